"""SHA-256 manifests: reading both usual spellings, and comparing one with what is on disk."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from wmo_contracts.vendor import FileCheck, ManifestCheckDocument
from wmo_kit.errors import BadDocument

from wmo_harness.source_tree import BadTree, check_path

_GNU = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_BSD = re.compile(r"SHA256 \((.+)\) = ([0-9a-fA-F]{64})")


def parse_manifest(text: str, name: str) -> dict[str, str]:
    """Parse a manifest into {path: SHA-256 hex, lower case}; `name` is the source in messages.

    A line is `<hex>  path` or `SHA256 (path) = <hex>`; empty lines do not count. Raises BadDocument with the line for
    anything else, a path that is absolute or has `.` or `..` segments, a path listed twice, and a manifest of nothing.
    """
    listed: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        path, digest = _parse_line(line, f"cannot read '{name}': line {number}")
        if path in listed:
            raise BadDocument(f"cannot read '{name}': line {number}: '{path}' is listed twice")
        listed[path] = digest
    if not listed:
        raise BadDocument(f"cannot read '{name}': it lists no file")
    return listed


def _parse_line(line: str, where: str) -> tuple[str, str]:
    if match := _GNU.fullmatch(line):
        digest, path = match.groups()
    elif match := _BSD.fullmatch(line):
        path, digest = match.groups()
    else:
        raise BadDocument(f"{where}: neither '<hex>  path' nor 'SHA256 (path) = <hex>'")
    try:
        check_path(path)
    except BadTree as error:
        raise BadDocument(f"{where}: {error}") from error
    return path, digest.lower()


def sha256_hex(data: bytes) -> str:
    """Hash bytes as a manifest does: SHA-256, 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def compare(listed: Mapping[str, str], found: Mapping[str, str]) -> ManifestCheckDocument:
    """Compare two {path: digest} mappings: every path once, sorted, with what is wrong about it."""
    checks = []
    for path in sorted(listed.keys() | found.keys()):
        if path not in listed:
            checks.append(FileCheck(path=path, status="unexpected"))
        elif path not in found:
            checks.append(FileCheck(path=path, status="missing"))
        else:
            checks.append(FileCheck(path=path, status="ok" if listed[path] == found[path] else "changed"))
    return ManifestCheckDocument(ok=all(check.status == "ok" for check in checks), files=tuple(checks))


def hash_directory(root: Path, name: str) -> dict[str, str]:
    """Hash everything below `root/name`: {path relative to root: SHA-256 hex}. Raises OSError.

    Symlinks are never followed, so nothing outside is ever read: a link, like any other special file, is listed with
    the digest "", which no manifest holds. Where `name` itself is missing, nothing is found.
    """
    try:
        mode = os.lstat(root / name).st_mode
    except FileNotFoundError:
        return {}
    if stat.S_ISDIR(mode):
        return {
            path: digest
            for child in _names(root / name)
            for path, digest in hash_directory(root, f"{name}/{child}").items()
        }
    return {name: sha256_hex((root / name).read_bytes()) if stat.S_ISREG(mode) else ""}


def _names(directory: Path) -> Iterator[str]:
    yield from sorted(os.listdir(directory))  # noqa: PTH208  names, not paths, are what a manifest has
