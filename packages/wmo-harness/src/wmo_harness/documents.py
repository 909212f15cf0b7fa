"""Trees as `wmo.harness/1` documents."""

from wmo_contracts.harness import HarnessDocument
from wmo_kit.errors import BadDocument

from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree


def to_document(tree: SourceTree, name: str) -> HarnessDocument:
    """Give the document of a harness, both hashes filled in. Raises BadHarness where the tree does not parse."""
    return HarnessDocument(name=name, files=tree.files, tree_hash=tree_hash(tree), doc_hash=doc_hash(parse_tree(tree)))


def from_document(document: HarnessDocument) -> SourceTree:
    """Give a document's tree. Hashes are checked where present. Raises BadTree, BadHarness, BadDocument."""
    tree = SourceTree.from_files(document.files)
    if document.tree_hash is not None:
        _check_hash(document.name, "tree_hash", document.tree_hash, tree_hash(tree))
    if document.doc_hash is not None:
        _check_hash(document.name, "doc_hash", document.doc_hash, doc_hash(parse_tree(tree)))
    return tree


def _check_hash(name: str, key: str, said: str, found: str) -> None:
    if said != found:
        raise BadDocument(f"harness '{name}' contradicts itself: '{key}' says {said}, its files give {found}")
