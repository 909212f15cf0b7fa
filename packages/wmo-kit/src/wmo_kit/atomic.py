"""The one way files get their final names: temp file beside them, fsync, rename, fsync of the directory."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from wmo_contracts.base import dump_text

from wmo_kit.io_errors import naming


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old content or the new, never a part. Raises OSError.

    A destination that is a symlink is written through: the link stays and its target is replaced.
    """
    with naming(path):
        target = Path(os.path.realpath(path))
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        temp = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), 0o644)  # mkstemp makes 0600; evidence is for all who may enter the folder
                os.fsync(file.fileno())
            temp.replace(target)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        fsync_directory(target.parent)


def write_text_atomic(path: Path, text: str) -> None:
    """Write `text` as UTF-8, no newline translation. Raises OSError."""
    write_bytes_atomic(path, text.encode())


def write_json_atomic(path: Path, value: Any) -> None:
    """Write a JSON value as the run directory has it: keys sorted, indent 2, newline. Raises OSError, ValueError."""
    write_text_atomic(path, dump_text(dict(sorted(value.items())) if isinstance(value, dict) else value))


def replace_tree(directory: Path, files: Mapping[str, bytes]) -> None:
    """Make `directory` hold exactly `files` (relative POSIX path -> bytes); nothing of an earlier content stays.

    The new tree is built and synced beside it, then takes its name. A kill leaves the old tree, the new one, or
    (between two renames) none, never a mixture. Raises OSError.
    """
    with naming(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".new", dir=directory.parent))
        try:
            staging.chmod(0o755)
            _fill(staging, files)
            _take_name(staging, directory)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        fsync_directory(directory.parent)


def _fill(staging: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    for folder in {staging / parent for name in files for parent in PurePosixPath(name).parents} | {staging}:
        fsync_directory(folder)


def _take_name(staging: Path, directory: Path) -> None:
    if not directory.exists():
        staging.replace(directory)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".old", dir=directory.parent))
    directory.replace(old)  # rename onto an empty directory is allowed, onto a full one is not
    staging.replace(directory)
    shutil.rmtree(old)


def fsync_directory(directory: Path) -> None:
    """Make renames and new names in `directory` durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
