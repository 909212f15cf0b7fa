"""The reference's vectors: same hashes and surface ids, same refusals."""

import json
from pathlib import Path

import pytest
from wmo_contracts.harness import SourceFile
from wmo_harness.source_tree import BadTree, SourceTree, tree_hash
from wmo_harness.surfaces import BadHarness, doc_hash, from_doc, parse_tree, to_doc

VECTORS = json.loads((Path(__file__).parent / "vectors" / "trees.json").read_text("utf-8"))
TREE_OK = [vector for vector in VECTORS if vector["tree"] == "ok"]
TREE_REFUSED = [vector for vector in VECTORS if vector["tree"] == "refused"]
DOC_OK = [vector for vector in TREE_OK if vector["doc"] == "ok"]
DOC_REFUSED = [vector for vector in TREE_OK if vector["doc"] == "refused"]

NAMED_IN_TREE_REFUSAL = {
    "newline-path": "a.ts\\n",
    "backslash": "a\\\\x.ts",
    "empty-path": "bad path ''",
    "case-twins": "'src/A.ts' and 'src/a.ts'",
    "nul": "SYSTEM.md",
    "surrogate": "SYSTEM.md",
}
NAMED_IN_DOC_REFUSAL = {
    "missing-system": "SYSTEM.md",
    "no-files": "SYSTEM.md",
    "id-collision": "'a-b.ts' and 'a/b.ts'",
    "unknown-table": "'other'",
    "unknown-key": "'speed'",
    "bad-toml": "config.toml",
    "tools-not-list": "'tools'",
    "tools-unknown": "'fly'",
    "tools-no-submit": "'tools'",
    "turns-zero": "'max_turns'",
    "turns-float": "'max_turns'",
    "turns-bool": "'max_turns'",
    "temperature-high": "'temperature'",
    "temperature-nan": "'temperature'",
}


def make(vector):
    files = [
        SourceFile.model_construct(
            path=file["path"], content=json.loads(file["content_json"]) if "content_json" in file else file["content"]
        )
        for file in vector["files"]
    ]
    return SourceTree.from_files(files)


def by_name(vector):
    return vector["name"]


def test_every_vector_is_tested():
    assert len(DOC_OK) + len(DOC_REFUSED) + len(TREE_REFUSED) == len(VECTORS) == 60


@pytest.mark.parametrize("vector", TREE_OK, ids=by_name)
def test_tree_hash(vector):
    assert tree_hash(make(vector)) == vector["tree_hash"]


@pytest.mark.parametrize("vector", DOC_OK, ids=by_name)
def test_doc_hash_and_surface_ids(vector):
    spec = parse_tree(make(vector))
    assert [surface.id for surface in spec.surfaces] == vector["surface_ids"]
    assert doc_hash(spec) == doc_hash(reversed(spec.surfaces)) == vector["doc_hash"]


@pytest.mark.parametrize("vector", DOC_OK, ids=by_name)
def test_the_canonical_tree_of_a_document_is_the_same_document(vector):
    surfaces = to_doc(make(vector))
    assert to_doc(from_doc(surfaces)) == surfaces


@pytest.mark.parametrize("vector", TREE_REFUSED, ids=by_name)
def test_tree_refused(vector):
    with pytest.raises(BadTree) as caught:
        make(vector)
    assert (NAMED_IN_TREE_REFUSAL.get(vector["name"]) or vector["files"][-1]["path"]) in str(caught.value)


@pytest.mark.parametrize("vector", DOC_REFUSED, ids=by_name)
def test_document_refused(vector):
    tree = make(vector)
    with pytest.raises(BadHarness) as caught:
        parse_tree(tree)
    assert (NAMED_IN_DOC_REFUSAL.get(vector["name"]) or vector["files"][-1]["path"]) in str(caught.value)
