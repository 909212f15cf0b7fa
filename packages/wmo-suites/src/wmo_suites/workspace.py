"""Workspaces: the folders that agents work in, one copy of the task's for each attempt."""

import os
import shutil
from pathlib import Path

from wmo_kit.errors import BadDocument

from wmo_suites.task import Task

MOVED, PATH_LENGTH = "moved-", 2000
"""How folders are called that would have a longer path, while they are removed."""
EPOCH = 946_684_800
"""2000-01-01T00:00:00Z, every copied file's time: a listing of the workspace reads the same in every attempt."""


def copy_workspace(task: Task, dest: Path) -> None:
    """Make `dest` (must not exist) a copy of the task's workspace that belongs to us.

    A copy is a function of what `task_digest` covers: bytes, executable bits (modes become 0755 or 0644) and links. A
    link must be relative and stay inside the workspace. Raises BadDocument for one that does not and for what is
    neither file, folder nor link; FileExistsError, OSError.
    """
    source = task.workspace
    dest.mkdir(parents=True)
    for folder, folders, files in os.walk(source):
        here = Path(folder)
        for name in sorted(folders + files):
            _copy_entry(here / name, dest / (here / name).relative_to(source), source)
    for path in [*dest.rglob("*"), dest]:
        os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)


def _copy_entry(entry: Path, copy: Path, source: Path) -> None:
    if entry.is_symlink():
        target = entry.readlink()
        inside = os.path.normpath(entry.parent.relative_to(source) / target)
        if target.is_absolute() or inside.split("/")[0] == "..":
            raise BadDocument(f"bad link '{entry}' to '{target}': a workspace's links must stay inside it")
        copy.symlink_to(target)
    elif entry.is_dir():
        copy.mkdir()
        copy.chmod(0o755)
    elif entry.is_file():
        shutil.copyfile(entry, copy)
        copy.chmod(0o755 if entry.stat().st_mode & 0o100 else 0o644)
    else:
        raise BadDocument(f"bad workspace entry '{entry}': neither a file, a folder nor a link")


def remove_workspace(directory: Path) -> None:
    """Remove a folder that an agent worked in; one that is gone is no error. Raises OSError."""
    if directory.is_dir():
        empty_folder(directory)
        directory.rmdir()


def empty_folder(directory: Path) -> None:
    """Remove what is in a folder that an agent worked in. Raises OSError.

    It may hold folders without permissions, which keep anyone but root from deleting what is in them, and folders in
    folders, deeper than a path may be long: there the next is moved up to `directory` before it is looked into.
    """
    directory.chmod(0o755)
    moved, met = 0, [directory]
    for folder in met:
        for entry in list(os.scandir(folder)):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108  a name need not be text
                continue
            path = Path(entry.path)
            path.chmod(0o755)
            if len(entry.path) > PATH_LENGTH:
                while os.path.lexists(up := directory / f"{MOVED}{moved}"):
                    moved += 1
                path = path.rename(up)
                moved += 1
            met.append(path)
    for folder in reversed(met[1:]):
        folder.rmdir()


def remove_entry(path: Path) -> None:
    """Remove a file, link, special file, or folder with all that is in it. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        remove_workspace(path)
    else:
        path.unlink()
