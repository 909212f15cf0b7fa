"""Source trees on disk: exact bytes both ways, no symlinks, whole replacement."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from wmo_contracts.harness import SourceFile
from wmo_kit.atomic import replace_tree
from wmo_kit.errors import CannotWrite, Missing, shown

from wmo_harness.source_tree import BadTree, Bounds, SourceTree

NAME_MAX = 255
"""Bytes of one name on Linux's file systems. The tree's own rules, the reference's, bound only the whole path."""


def read_tree(directory: Path, bounds: Bounds | None = None, *, like: SourceTree | None = None) -> SourceTree:
    """Read every file below `directory`, byte for byte (CRLF and lone CR survive). Empty directories do not count.

    With `bounds`, reading stops as soon as they are passed, so a huge tree costs no memory. Files that are the same in
    `like` are its objects: a thousand trees that differ from it in a line cost the memory of a thousand lines.

    Raises BadTree for a symlink, a special file, text that is not UTF-8, or anything that SourceTree refuses; Missing;
    OSError.
    """
    if not directory.is_dir():
        raise Missing(f"no harness directory '{directory}': name an existing one")
    known = {} if like is None else {file.path: file for file in like.files}
    files: list[SourceFile] = []
    size = 0
    for name in _walk(directory, ""):
        if bounds and len(files) == bounds.max_files:
            raise BadTree(f"too many files: '{name}' is one more than the {bounds.max_files} that are allowed")
        data = _read_regular(directory / name, name, None if bounds is None else bounds.max_bytes - size)
        size += len(data)
        try:
            content = data.decode()
        except UnicodeDecodeError as error:
            raise BadTree(f"bad content of '{name}': not UTF-8 at byte {error.start}") from error
        twin = known.get(name)
        files.append(twin if twin and twin.content == content else SourceFile(path=name, content=content))
    return SourceTree.from_files(files)


def write_tree(tree: SourceTree, directory: Path) -> None:
    """Make `directory` hold exactly the tree; nothing of an earlier content stays.

    A symlink is written through. A kill leaves the old directory, the new one or none, never a mixture. Raises BadTree,
    before anything is touched, for a name that no file system takes; CannotWrite, OSError.
    """
    check_names(tree)
    target = Path(os.path.realpath(directory))
    if target.exists() and not target.is_dir():
        raise CannotWrite(f"cannot write a tree to '{directory}': it is not a directory")
    replace_tree(target, {file.path: file.content.encode() for file in tree.files})


def check_names(tree: SourceTree) -> None:
    """Raise BadTree where a path has a name that no file system takes."""
    for file in tree.files:
        longest = max(len(name.encode()) for name in file.path.split("/"))
        if longest > NAME_MAX:
            raise BadTree(f"bad path '{shown(file.path)}': a name of {longest} bytes, a file's may have {NAME_MAX}")


def _walk(directory: Path, prefix: str) -> Iterator[str]:
    """Give the paths below `directory` in sorted order, relative, without following links."""
    with os.scandir(directory) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = prefix + entry.name
        if entry.is_symlink():
            raise BadTree(f"symlink in a tree: '{name}'; replace it by the file itself")
        if entry.is_dir():
            yield from _walk(directory / entry.name, f"{name}/")
        else:
            yield name


def _read_regular(path: Path, name: str, room: int | None) -> bytes:
    """Read one file of at most `room` bytes. NONBLOCK: opening a FIFO must not wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadTree(f"not a regular file: '{name}'")
        if room is None:
            return file.read()
        data = file.read(room + 1)
        if len(data) > room:
            raise BadTree(f"tree too large: '{name}' goes past the bytes that are allowed")
        return data
