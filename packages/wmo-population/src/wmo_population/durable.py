"""Small durable steps on a run's files, and the removal of what a kill leaves between them."""

import errno
import os
import re
import shutil
from pathlib import Path

from wmo_contracts.base import Part, dump_text
from wmo_harness.source_tree import Bounds, SourceTree
from wmo_harness.tree_io import read_tree
from wmo_kit.atomic import fsync_directory, write_json_atomic
from wmo_kit.documents import MAX_BYTES, read_regular
from wmo_kit.errors import BadDocument, Missing

from wmo_population.evidence import reading

_LEFTOVER = re.compile(
    r"\.(state|run|report|proposal|pending|error)\.json\.[a-z0-9_]{8}\.tmp|\.source\.[a-z0-9_]{8}\.(new|old)"
)
"""The temp names of wmo_kit.atomic beside the files that this package writes, and no others."""


def write_part(path: Path, part: Part) -> None:
    """Write a JSON file of the run, unless it holds exactly that already. Raises OSError.

    Raises BadDocument where something else than a file stands there.
    """
    value = dict(sorted(part.model_dump(mode="json").items()))
    if not _holds(path, dump_text(value).encode()):
        write_json_atomic(path, value)


def _holds(path: Path, data: bytes) -> bool:
    if not os.path.lexists(path):
        return False
    with reading("run", path):
        return read_regular(path, MAX_BYTES) == data


def holds_tree(directory: Path, tree: SourceTree) -> bool:
    """Say whether `directory` holds exactly `tree`; something else, or nothing, does not. Raises OSError."""
    size = sum(len(file.content.encode()) for file in tree.files)
    try:
        return read_tree(directory, Bounds(len(tree.files), size)) == tree
    except (BadDocument, Missing):
        return False


def make_directory(directory: Path, *, inside: Path | None = None) -> None:
    """Make a directory and its missing parents, each durable in the one above.

    With `inside`, a directory above it that must be there: what was removed under us is not made again, with nothing
    of what it held. Raises OSError that names what is missing, or the file that stands where a directory belongs.
    """
    if directory.is_dir():
        return
    if directory == inside:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))
    make_directory(directory.parent, inside=inside)
    try:
        directory.mkdir(exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory)) from error
    fsync_directory(directory.parent)


def unlink(path: Path) -> None:
    """Remove a file durably; a missing one is no error. Raises BadDocument for a folder, OSError."""
    if os.path.lexists(path):
        with reading("run", path):  # a folder in its place is not ours to remove
            path.unlink()
        fsync_directory(path.parent)


def remove_directory(directory: Path) -> None:
    """Remove a directory and what is in it, or whatever has its name; none is no error. Raises OSError."""
    if directory.is_dir() and not directory.is_symlink():
        shutil.rmtree(directory)
        fsync_directory(directory.parent)
    else:
        unlink(directory)


def sweep(directory: Path) -> None:
    """Remove the temp files and trees that a killed writer left in `directory`; a missing one is no error."""
    if not directory.is_dir():
        return
    for path in [path for path in directory.iterdir() if _LEFTOVER.fullmatch(path.name)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
