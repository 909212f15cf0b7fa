"""One look at what an agent left in candidate/: a text tree, and every reason why something cannot be in one."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wmo_harness.source_tree import MAX_PATH_BYTES, PROPOSER_BOUNDS, BadTree, SourceTree, check_path

MAX_REASONS = 50
"""After this many unfit files the snapshot stops: nobody reads further, and a tree of a million files must not cost."""


@dataclass
class Snapshot:
    """The files that can be in a tree (path -> text), and a reason for each one that cannot.

    `complete` is False where reading stopped at a bound: then nothing can be said of what the tree lacks.
    """

    files: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    complete: bool = True

    def stop(self, reason: str) -> None:
        """Note the bound at which reading ends."""
        self.reasons.append(reason)
        self.complete = False

    def tree(self) -> SourceTree:
        """Give the files as a tree. Raises BadTree where they do not go together (names differing only by case)."""
        return SourceTree.from_mapping(self.files)


def take_snapshot(directory: Path) -> Snapshot:
    """Read every file below `directory` once, within a proposer's bounds; links and special files are never opened.

    Raises OSError.
    """
    found = Snapshot()
    if directory.is_symlink() or not directory.is_dir():
        found.stop("the folder 'candidate' is gone")
        return found
    room = PROPOSER_BOUNDS.max_bytes
    for path in _walk(directory, "", found.reasons):
        if len(found.reasons) >= MAX_REASONS:
            found.stop("... and more")
            break
        if len(found.files) == PROPOSER_BOUNDS.max_files:
            found.stop(f"too many files: '{path}' is one more than the {PROPOSER_BOUNDS.max_files} that are allowed")
            break
        data = _read(directory / path, path, room, found.reasons)
        if data is None:
            continue
        room -= len(data)
        if room < 0:
            found.stop(f"tree too large: '{path}' goes past {PROPOSER_BOUNDS.max_bytes} bytes")
            break
        _add(found, path, data)
    return found


def _walk(directory: Path, prefix: str, reasons: list[str]) -> Iterator[str]:
    """Give the paths below `directory` in sorted order, relative, folders followed and links not."""
    if len(prefix) > MAX_PATH_BYTES:  # also keeps the recursion shallow
        reasons.append(f"path too long: '{prefix}'")
        return
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        reasons.append(f"cannot read the folder {prefix!r}: permission denied")
        return
    for entry in found:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(directory / entry.name, f"{path}/", reasons)
        else:
            yield path


def _read(place: Path, path: str, room: int, reasons: list[str]) -> bytes | None:
    """Read one regular file, at most one byte more than `room`; None, with a reason, for anything else."""
    try:
        check_path(path)
        found = place.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise BadTree(f"symlink in a tree: '{path}'; replace it by the file itself")
        if not stat.S_ISREG(found.st_mode):
            raise BadTree(f"not a regular file: '{path}' is {_kind(found.st_mode)}")
        if found.st_nlink > 1:
            raise BadTree(f"hard link in a tree: '{path}' has {found.st_nlink} names; replace it by a copy")
        with place.open("rb") as file:
            return file.read(room + 1)
    except PermissionError:
        reasons.append(f"cannot read '{path}': permission denied")
    except BadTree as error:
        reasons.append(str(error))
    return None


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((words for holds, words in kinds if holds(mode)), "a device")


def _add(found: Snapshot, path: str, data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        found.reasons.append(f"bad content of '{path}': not UTF-8 at byte {error.start}")
        return
    if "\0" in text:
        found.reasons.append(f"bad content of '{path}': it holds a NUL character")
        return
    found.files[path] = text
