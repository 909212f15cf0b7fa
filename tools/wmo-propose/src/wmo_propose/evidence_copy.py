"""Evidence that cannot be shown as it lies: too large, or with folders in it that a proposer must not see.

What is too large is copied within budgets, head and tail of each long file, gaps named.
"""

import errno
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

CUT_NOTE = "EVIDENCE-TRUNCATED.md"
NO_HARD_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)


@dataclass(frozen=True)
class Budget:
    """The most bytes to show of one candidate's evidence, and of one file of it."""

    total: int
    file: int


EVIDENCE_BUDGET = Budget(total=256 * 1024 * 1024, file=2 * 1024 * 1024)
"""Design 6."""


def fits_budget(directory: Path, budget: Budget = EVIDENCE_BUDGET, hidden: Collection[Path] = ()) -> bool:
    """Say whether every file below `directory` and all of them together are within the budget. Raises OSError.

    `hidden` are folders below it that do not count.
    """
    total, left_out = 0, _names(hidden)
    waiting = [str(directory)]
    while waiting:  # in no order, and not by _files: of a long run this reads all, before each turn
        with os.scandir(waiting.pop()) as found:
            for entry in found:
                if entry.is_file(follow_symlinks=False):
                    size = entry.stat(follow_symlinks=False).st_size
                    total += size
                    if size > budget.file or total > budget.total:
                        return False
                elif entry.is_dir(follow_symlinks=False) and entry.path not in left_out:
                    waiting.append(entry.path)
    return True


def link_files(directory: Path, target: Path, hidden: Collection[Path]) -> None:
    """Make the new folder `target` with every file of `directory` but for the `hidden` folders. Raises OSError.

    The files are hard links, which take no room; copies where the file system has none. Symlinks are left out.
    """
    target.mkdir(parents=True)
    left_out, made, cut = _names(hidden), {str(directory)}, len(str(directory))
    for file in _files(str(directory), left_out):
        place = f"{target}{file.path[cut:]}"
        folder = file.path.rpartition("/")[0]
        if folder not in made:
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            made.add(folder)
        try:
            os.link(file.path, place)  # no Path: a run may have 100,000 files, and a Path of each costs more
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            shutil.copyfile(file.path, place)


def copy_within_budget(
    directory: Path, target: Path, budget: Budget = EVIDENCE_BUDGET, hidden: Collection[Path] = ()
) -> str:
    """Copy what the budget allows into the new folder `target`; give the note that names every gap.

    Files come in sorted order; a long one keeps its head and its tail. Links are left out, and so are, unnamed, the
    `hidden` folders. Raises OSError.
    """
    target.mkdir(parents=True)
    room = budget.total
    lines = ["The evidence here is not whole: it was too large to show.", ""]
    for file in _files(str(directory), _names(hidden)):
        path = Path(file.path)
        name = path.relative_to(directory).as_posix()
        size = min(file.stat(follow_symlinks=False).st_size, budget.file)
        if size > room:
            lines.append(f"- left out: {name}")
            continue
        room -= size
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if dropped := _copy_ends(path, target / name, budget.file):
            lines.append(f"- {dropped} bytes cut out of the middle: {name}")
    return "\n".join([*lines, ""])


def _copy_ends(source: Path, target: Path, limit: int) -> int:
    """Copy a file, or its first and last `limit` / 2 bytes around a marker. Gives the number of bytes left out."""
    with source.open("rb") as file, target.open("wb") as copy:
        dropped = os.fstat(file.fileno()).st_size - limit
        if dropped <= 0:
            shutil.copyfileobj(file, copy)
            return 0
        copy.write(file.read(limit // 2))
        copy.write(b"\n[... %d bytes left out ...]\n" % dropped)
        file.seek(-(limit - limit // 2), os.SEEK_END)
        copy.write(file.read())
    return dropped


def _names(folders: Collection[Path]) -> frozenset[str]:
    return frozenset(map(str, folders))


def _files(directory: str, hidden: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Give the regular files below `directory`, a folder's own before its folders', sorted; links are left out.

    Entries, not paths: a proposer's workspace asks for a thousand candidates' files, and these cost a third.
    """
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    yield from (entry for entry in entries if entry.is_file(follow_symlinks=False))
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and entry.path not in hidden:
            yield from _files(entry.path, hidden)
