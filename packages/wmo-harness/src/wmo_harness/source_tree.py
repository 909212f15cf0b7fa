"""A harness as files: exact text at canonical relative paths, and the hash that names it (design 4)."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from wmo_contracts.harness import SourceFile
from wmo_kit.errors import BadDocument

PATH_GRAMMAR = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
"""Matched with fullmatch: `$` would let a trailing newline through."""
MAX_PATH_BYTES = 1024
RESERVED_PATHS = frozenset({"doc.json", "aliases.toml"})
"""The reference keeps its own metadata under these names."""
HASH_BYTES = 16
"""BLAKE2b digest size of every hash of a harness."""


class BadTree(BadDocument):
    """Files that are no source tree; the message names the path."""


@dataclass(frozen=True)
class Bounds:
    """How large a tree may be: number of files, and bytes of all contents together."""

    max_files: int
    max_bytes: int


PROPOSER_BOUNDS = Bounds(max_files=1024, max_bytes=8 * 1024 * 1024)
"""What a proposer may hand in (design 4)."""
SEED_BOUNDS = Bounds(max_files=16 * 1024, max_bytes=64 * 1024 * 1024)
"""What a seed may be: as much as a document can hold, so that a damaged run cannot make a reader swallow a disk."""


@dataclass(frozen=True)
class SourceTree:
    """A valid source tree; `files` is sorted by path. Construction raises BadTree."""

    files: tuple[SourceFile, ...]

    def __post_init__(self) -> None:
        _check_paths([file.path for file in self.files])
        for file in self.files:
            _check_content(file)

    @classmethod
    def from_files(cls, files: Iterable[SourceFile]) -> Self:
        """Make a tree of files in any order. Raises BadTree."""
        return cls(tuple(sorted(files, key=lambda file: file.path)))

    @classmethod
    def from_mapping(cls, contents: Mapping[str, str]) -> Self:
        """Make a tree of {path: content}. Raises BadTree."""
        return cls.from_files(SourceFile(path=path, content=content) for path, content in contents.items())

    def as_mapping(self) -> dict[str, str]:
        """Give {path: content}, sorted by path."""
        return {file.path: file.content for file in self.files}


def tree_hash(tree: SourceTree) -> str:
    """Hash a tree: 32 hex digits; equal exactly for trees of equal paths and bytes.

    BLAKE2b-16 over the files sorted by path, each as u32 big-endian byte length of the path, the path, u64 big-endian
    byte length of the content, the content.
    """
    digest = hashlib.blake2b(digest_size=HASH_BYTES)
    for file in tree.files:
        path, content = file.path.encode(), file.content.encode()
        digest.update(len(path).to_bytes(4, "big") + path)
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def check_bounds(tree: SourceTree, bounds: Bounds = PROPOSER_BOUNDS) -> None:
    """Raise BadTree where the tree is larger than `bounds`."""
    if len(tree.files) > bounds.max_files:
        raise BadTree(f"too many files: {len(tree.files)}, at most {bounds.max_files} are allowed")
    size = 0
    for file in tree.files:
        size += len(file.content.encode())
        if size > bounds.max_bytes:
            raise BadTree(f"tree too large: '{file.path}' goes past {bounds.max_bytes} bytes")


def check_path(path: str) -> None:
    """Raise BadTree where `path` is not a canonical relative POSIX path of the grammar."""
    if not PATH_GRAMMAR.fullmatch(path):
        raise BadTree(f"bad path {path!r}: use relative POSIX paths of letters, digits, '.', '_', '-' and single '/'")
    if len(path) > MAX_PATH_BYTES:
        raise BadTree(f"path too long: '{path}' has {len(path)} bytes, at most {MAX_PATH_BYTES} are allowed")
    if not {".", ".."}.isdisjoint(path.split("/")):
        raise BadTree(f"bad path '{path}': the segments '.' and '..' are not allowed")
    if path in RESERVED_PATHS:
        raise BadTree(f"reserved path '{path}': choose another name")


def _check_paths(paths: list[str]) -> None:
    spelled: dict[str, str] = {}
    for path in paths:
        check_path(path)
        twin = spelled.setdefault(path.lower(), path)
        if twin != path:
            raise BadTree(f"paths differ only by letter case: '{twin}' and '{path}'")
    if len(spelled) != len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise BadTree(f"duplicate path '{twice}'")
    every = set(paths)
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (parent := "/".join(parts[:depth])) in every:
                raise BadTree(f"'{parent}' is a file and the directory of '{path}' at once")
    if paths != sorted(paths):
        raise BadTree("files are not sorted by path")


def _check_content(file: SourceFile) -> None:
    if "\0" in file.content:
        raise BadTree(f"bad content of '{file.path}': it holds a NUL character")
    try:
        file.content.encode()
    except UnicodeEncodeError as error:
        raise BadTree(f"bad content of '{file.path}': lone surrogate at character {error.start}") from error
