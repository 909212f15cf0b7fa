"""Document to directory and back."""

from pathlib import Path

from wmo_contracts.harness import HarnessDocument
from wmo_contracts.vendor import MaterializedDocument
from wmo_harness.documents import from_document, to_document
from wmo_harness.source_tree import tree_hash
from wmo_harness.tree_io import read_tree, write_tree
from wmo_kit.documents import emit, read_document
from wmo_kit.errors import Usage


def run_write(source: str, into: Path) -> None:
    """Write the document at `source` (a path or `-`) into a directory and print wmo.materialized/1.

    Raises BadDocument before anything is touched; Usage, CannotWrite, OSError.
    """
    if Path.cwd().is_relative_to(into.resolve()):
        raise Usage(f"'{into}' is the current directory or holds it, and would be replaced whole: name another one")
    tree = from_document(read_document(source, HarnessDocument))
    write_tree(tree, into)
    emit(MaterializedDocument(where=str(into), files=len(tree.files), tree_hash=tree_hash(tree)))


def run_snapshot(directory: Path, name: str | None) -> None:
    """Print a directory as wmo.harness/1. Raises BadDocument for what is no harness, Missing, OSError."""
    emit(to_document(read_tree(directory), name or directory.resolve().name))
