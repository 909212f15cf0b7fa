"""What wmo-materialize and wmo-vendor say about files."""

from typing import ClassVar, Literal

from wmo_contracts.base import Document, Part


class MaterializedDocument(Document):
    """`wmo.materialized/1`: a tree was written to `where`."""

    SCHEMA: ClassVar[str] = "wmo.materialized/1"

    where: str
    files: int
    tree_hash: str


class FileCheck(Part):
    """One manifest file and what was found."""

    path: str
    status: Literal["ok", "changed", "missing", "unexpected"]


class ManifestCheckDocument(Document):
    """`wmo.manifest-check/1`: `ok` is true where every file is."""

    SCHEMA: ClassVar[str] = "wmo.manifest-check/1"

    ok: bool
    files: tuple[FileCheck, ...]
