import hashlib
import os

import pytest
from wmo_harness.manifest import compare, hash_directory, parse_manifest
from wmo_kit.errors import BadDocument

HEX = hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(
    "line", [f"{HEX}  pi/a.ts", f"{HEX} *pi/a.ts", f"SHA256 (pi/a.ts) = {HEX}", f"{HEX.upper()}  pi/a.ts"]
)
def test_both_spellings_are_read(line):
    assert parse_manifest(f"\n{line}\n", "m") == {"pi/a.ts": HEX}


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "pi/../../a", "pi//a", "./a", "pi\\a", "pi/a b", " pi/a"])
@pytest.mark.parametrize("spelling", ["{hex}  {path}", "SHA256 ({path}) = {hex}"])
def test_a_path_out_of_the_tree_is_refused(path, spelling):
    with pytest.raises(BadDocument, match="cannot read 'm': line 2"):
        parse_manifest("\n" + spelling.format(hex=HEX, path=path), "m")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no file"),
        (f"{HEX[:-1]}  a", "line 1"),
        ("hello", "line 1"),
        (f"MD5 (a) = {HEX}", "line 1"),
        (f"{HEX}  a\nSHA256 (a) = {HEX}", "line 2: 'a' is listed twice"),
    ],
)
def test_a_malformed_manifest_is_refused(text, said):
    with pytest.raises(BadDocument, match=said):
        parse_manifest(text, "m")


def statuses(listed, found):
    check = compare(listed, found)
    return check.ok, {file.path: file.status for file in check.files}


def test_compare_gives_every_path_once_sorted():
    assert statuses({"a": "1"}, {"a": "1"}) == (True, {"a": "ok"})
    assert statuses({"a": "1", "b": "2", "d": "4"}, {"b": "3", "c": "5", "d": "4"}) == (
        False,
        {"a": "missing", "b": "changed", "c": "unexpected", "d": "ok"},
    )


def test_links_and_special_files_are_listed_and_never_read(tmp_path):
    """A link to the very same bytes is a change: what it points to is not in the tree."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.ts").write_bytes(b"x")
    root = tmp_path / "vendor"
    (root / "pi").mkdir(parents=True)
    (root / "pi" / "link.ts").symlink_to(outside / "a.ts")
    (root / "pi" / "dir").symlink_to(outside)
    os.mkfifo(root / "pi" / "pipe")
    (root / "pi" / "plain.ts").write_bytes(b"x")
    found = hash_directory(root, "pi")
    assert found == {"pi/dir": "", "pi/link.ts": "", "pi/pipe": "", "pi/plain.ts": HEX}
    assert statuses({"pi/link.ts": HEX, "pi/dir/a.ts": HEX, "pi/plain.ts": HEX}, found)[1] == {
        "pi/dir": "unexpected",
        "pi/dir/a.ts": "missing",
        "pi/link.ts": "changed",
        "pi/pipe": "unexpected",
        "pi/plain.ts": "ok",
    }


def test_a_root_that_is_a_link_is_not_entered(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"x")
    (tmp_path / "pi").symlink_to("real")
    assert hash_directory(tmp_path, "pi") == {"pi": ""}
    assert hash_directory(tmp_path, "nowhere") == {}
