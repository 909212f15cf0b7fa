import os

import pytest
from wmo_harness.source_tree import PROPOSER_BOUNDS, BadTree, Bounds, SourceTree, check_bounds
from wmo_harness.tree_io import read_tree, write_tree
from wmo_kit.errors import CannotWrite, Missing

TREE = SourceTree.from_mapping({"SYSTEM.md": "a\r\nb\rc\n", "src/deep/a.ts": "é\u2028", "empty": ""})


def test_write_replaces_the_whole_directory(tmp_path):
    target = tmp_path / "t"
    write_tree(SourceTree.from_mapping({"old/file": "x", "src": "a file where a directory comes"}), target)
    write_tree(TREE, target)
    assert read_tree(target) == TREE
    assert (target / "SYSTEM.md").read_bytes() == b"a\r\nb\rc\n"
    assert list(tmp_path.iterdir()) == [target]


def test_what_is_the_same_in_a_tree_like_it_is_held_once(tmp_path):
    other = TREE.as_mapping() | {"SYSTEM.md": "another\n", "new.ts": ""}
    write_tree(SourceTree.from_mapping(other), tmp_path / "t")
    read = read_tree(tmp_path / "t", like=TREE)
    assert read.as_mapping() == other
    known = {file.path: file for file in TREE.files}
    assert [file.path for file in read.files if file is known.get(file.path)] == ["empty", "src/deep/a.ts"]


def test_write_goes_through_a_symlink(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_tree(TREE, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read_tree(tmp_path / "real") == TREE


def test_write_onto_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("keep")
    with pytest.raises(CannotWrite, match="file"):
        write_tree(TREE, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "keep"


def test_a_name_that_no_file_system_takes_is_refused_before_anything_is_touched(tmp_path):
    write_tree(SourceTree.from_mapping({"a" * 255 + "/b": "x"}), tmp_path / "into")
    for path in ("a" * 256, "a" * 256 + "/b"):
        with pytest.raises(BadTree, match="a name of 256 bytes, a file's may have 255"):
            write_tree(SourceTree.from_mapping({path: "y"}), tmp_path / "into")
    assert (tmp_path / "into" / ("a" * 255) / "b").read_text() == "x"


@pytest.mark.parametrize("target", ["a.ts", "nowhere", "/etc/passwd", ".."])
def test_symlinks_are_refused(tmp_path, target):
    (tmp_path / "a.ts").write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link").symlink_to(target)
    with pytest.raises(BadTree, match="symlink in a tree: 'sub/link'"):
        read_tree(tmp_path)


def test_a_fifo_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadTree, match="'pipe'"):
        read_tree(tmp_path)


def test_bytes_that_are_not_utf8_are_refused(tmp_path):
    (tmp_path / "a.ts").write_bytes(b"ok\xff")
    with pytest.raises(BadTree, match=r"'a\.ts': not UTF-8 at byte 2"):
        read_tree(tmp_path)


def test_a_file_name_outside_the_grammar_is_refused(tmp_path):
    (tmp_path / "a b.ts").write_text("x")
    with pytest.raises(BadTree, match=r"a b\.ts"):
        read_tree(tmp_path)


def test_a_missing_directory_is_missing(tmp_path):
    with pytest.raises(Missing, match="nowhere"):
        read_tree(tmp_path / "nowhere")


def test_reading_stops_at_the_bounds(tmp_path):
    (tmp_path / "a").write_text("12345")
    (tmp_path / "b").write_text("67890")
    assert len(read_tree(tmp_path, Bounds(max_files=2, max_bytes=10)).files) == 2
    with pytest.raises(BadTree, match="'b'"):
        read_tree(tmp_path, Bounds(max_files=1, max_bytes=10))
    with pytest.raises(BadTree, match="'b'"):
        read_tree(tmp_path, Bounds(max_files=2, max_bytes=9))


def test_bounds_of_a_proposal():
    most = {f"f{number}": "" for number in range(PROPOSER_BOUNDS.max_files)}
    check_bounds(SourceTree.from_mapping(most))
    with pytest.raises(BadTree, match="1025, at most 1024"):
        check_bounds(SourceTree.from_mapping({**most, "one-more": ""}))
    check_bounds(SourceTree.from_mapping({"a": "x" * 8 * 1024 * 1024}))
    with pytest.raises(BadTree, match="'b' goes past 8388608"):
        check_bounds(SourceTree.from_mapping({"a": "x" * 8 * 1024 * 1024, "b": "é"}))
