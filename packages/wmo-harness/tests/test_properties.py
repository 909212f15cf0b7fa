"""Properties that hold for every tree and document, by generated examples."""

import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from wmo_contracts.harness import SourceFile
from wmo_harness.source_tree import BadTree, SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, from_doc, parse_tree, to_doc
from wmo_harness.tree_io import read_tree, write_tree

SEGMENT = st.from_regex(r"[A-Za-z0-9._-]{1,8}", fullmatch=True)
PATH = st.lists(SEGMENT, min_size=1, max_size=3).map("/".join)
CONTENT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
SLUG_FILE = st.from_regex(r"[a-z0-9]{1,4}(/[a-z0-9]{1,4}){0,2}\.(ts|js|md)", fullmatch=True)
WORDS = st.from_regex(r"[a-z]{1,6}( [a-z]{1,6}){0,3}", fullmatch=True)
SLUG = st.from_regex(r"[a-z0-9]{1,5}(-[a-z0-9]{1,5})?", fullmatch=True)


@st.composite
def trees(draw):
    try:
        return SourceTree.from_mapping(draw(st.dictionaries(PATH, CONTENT, max_size=5)))
    except BadTree:
        assume(False)


@st.composite
def harnesses(draw):
    contents = {"SYSTEM.md": draw(CONTENT)}
    contents |= draw(st.dictionaries(SLUG_FILE, CONTENT, max_size=3))
    for name in draw(st.sets(SLUG, max_size=2)):
        body = draw(st.text("ab \n-", max_size=20))
        contents[f"skills/{name}.md"] = f"---\nname: {name}\ndescription: {draw(WORDS)}\n---\n{body}"
    lines = draw(st.permutations(draw(config_lines())))
    contents["config.toml"] = "\n".join(["[harness]", *lines])
    try:
        tree = SourceTree.from_mapping(contents)
        parse_tree(tree)
    except BadTree:
        assume(False)
    return tree


@st.composite
def config_lines(draw):
    lines = [
        f"max_turns = {draw(st.integers(1, 10**9))}",
        f"max_output_tokens = {draw(st.integers(1, 10**9))}",
        f"temperature = {draw(st.one_of(st.integers(0, 2), st.floats(0, 2)))}",
        f'runtime_kind = "{draw(st.sampled_from(["kit-python", "pi-node"]))}"',
        'tools = ["bash", "submit"]',
    ]
    return draw(st.lists(st.sampled_from(lines), unique=True))


@settings(deadline=None, max_examples=40)
@given(trees())
def test_a_tree_survives_the_disk(tree):
    with tempfile.TemporaryDirectory() as directory:
        write_tree(tree, Path(directory, "tree"))
        assert read_tree(Path(directory, "tree")) == tree


@given(trees(), trees())
def test_hashes_are_equal_exactly_for_equal_trees(one, other):
    assert (tree_hash(one) == tree_hash(other)) == (one == other)


@given(trees(), st.data())
def test_every_character_and_path_counts_in_the_hash(tree, data):
    assume(tree.files)
    index = data.draw(st.integers(0, len(tree.files) - 1))
    changed = list(tree.files)
    file = changed[index]
    changed[index] = data.draw(
        st.sampled_from(
            [
                SourceFile(path=file.path, content=file.content + "x"),
                SourceFile(path=file.path + "x", content=file.content),
            ]
        )
    )
    try:
        other = SourceTree.from_files(changed)
    except BadTree:
        assume(False)
    assert tree_hash(other) != tree_hash(tree)


@given(harnesses())
def test_documents_round_trip_through_their_canonical_tree(tree):
    surfaces = to_doc(tree)
    canonical = from_doc(surfaces)
    assert to_doc(canonical) == surfaces
    assert from_doc(to_doc(canonical)) == canonical
    assert doc_hash(parse_tree(canonical)) == doc_hash(surfaces)


@given(harnesses())
def test_the_canonical_tree_means_the_same(tree):
    assert parse_tree(from_doc(to_doc(tree))) == parse_tree(tree)
