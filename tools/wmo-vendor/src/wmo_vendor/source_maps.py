"""Source files out of an npm package's source maps, which carry them whole (`sourcesContent`)."""

import posixpath
from pathlib import Path
from typing import Any

from wmo_harness.source_tree import BadTree, check_path
from wmo_kit.documents import parse_bytes
from wmo_kit.errors import BadDocument, Missing


def package_sources(package: Path) -> dict[str, bytes]:
    """Give every TypeScript file that the maps of `package/dist/**/*.js.map` carry: {path in the package: bytes}.

    Raises Missing where the package is not installed, BadDocument for a map that is malformed, carries no content, or
    names a place outside the package, and where two maps disagree.
    """
    if not (package / "package.json").is_file():
        raise Missing(f"no npm package in '{package}': run 'wmo-vendor install'")
    sources: dict[str, bytes] = {}
    for path in sorted(package.glob("dist/**/*.js.map")):
        directory = path.parent.relative_to(package).as_posix()
        for name, content in map_sources(parse_bytes(path.read_bytes(), str(path)), directory, str(path)).items():
            if sources.setdefault(name, content) != content:
                raise BadDocument(f"two source maps disagree about '{name}'")
    return sources


def map_sources(source_map: Any, directory: str, name: str) -> dict[str, bytes]:
    """Give the sources of one parsed map that lies in `directory` of its package; `name` is the source in messages.

    Raises BadDocument.
    """
    where = f"bad source map '{name}'"
    if not isinstance(source_map, dict):
        raise BadDocument(f"{where}: it is no object")
    names, contents = source_map.get("sources"), source_map.get("sourcesContent")
    if not isinstance(names, list) or not isinstance(contents, list) or len(names) != len(contents):
        raise BadDocument(f"{where}: 'sources' and 'sourcesContent' must be lists of one length")
    root = source_map.get("sourceRoot") or ""
    sources: dict[str, bytes] = {}
    for relative, content in zip(names, contents, strict=True):
        if not isinstance(relative, str) or not isinstance(content, str) or not isinstance(root, str):
            raise BadDocument(f"{where}: a source without a name or without its content")
        path = posixpath.normpath(posixpath.join(directory, root, relative))
        try:
            check_path(path)
        except BadTree as error:
            raise BadDocument(f"{where}: '{relative}' lies outside the package") from error
        sources[path] = content.encode()
    return sources
