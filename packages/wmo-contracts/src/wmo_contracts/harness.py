"""`wmo.harness/1`: a complete harness source tree on the wire."""

from typing import ClassVar

from wmo_contracts.base import Document, Part


class SourceFile(Part):
    """One text file of a tree: a canonical relative POSIX path and its exact content."""

    path: str
    content: str


class HarnessDocument(Document):
    """A named tree. The hashes are optional on the way in and checked where they are present."""

    SCHEMA: ClassVar[str] = "wmo.harness/1"

    name: str
    files: tuple[SourceFile, ...]
    tree_hash: str | None = None
    doc_hash: str | None = None
