"""Atomic writes: whole or not at all, symlinks written through, trees replaced without leftovers."""

import resource
import signal

import pytest
from wmo_kit.atomic import replace_tree, write_bytes_atomic, write_json_atomic


def test_write_replaces_and_leaves_no_temp_file(tmp_path):
    path = tmp_path / "a.json"
    write_bytes_atomic(path, b"one")
    write_bytes_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_symlink_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a").write_text("old")
    (tmp_path / "link").symlink_to("real/a")
    write_bytes_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/a").read_text() == "new"


def test_a_failed_write_keeps_the_old_content_and_no_temp_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(TypeError):
        write_bytes_atomic(path, "text is no bytes")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@pytest.fixture
def small_files():
    """Let no file grow past 1,000 bytes: a write that fails in the middle, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_write_that_fails_names_the_file_and_not_the_temp_file(tmp_path, small_files):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(OSError, match="File too large") as caught:
        write_bytes_atomic(path, b"x" * 1001)
    assert caught.value.filename == str(path)
    with pytest.raises(OSError, match="File too large") as caught:
        replace_tree(tmp_path / "t", {"b": b"", "c": b"x" * 1001})
    assert caught.value.filename == str(tmp_path / "t")
    with pytest.raises(FileNotFoundError) as caught:
        write_bytes_atomic(tmp_path / "none" / "a", b"")
    assert caught.value.filename == str(tmp_path / "none" / "a")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_path_below_a_file_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        write_bytes_atomic(tmp_path / "file" / "a", b"")


def test_json_is_laid_out_as_the_run_directory_has_it(tmp_path):
    write_json_atomic(tmp_path / "a.json", {"b": [{"z": 1, "a": "é"}], "a": None})
    assert (tmp_path / "a.json").read_text() == (
        '{\n  "a": null,\n  "b": [\n    {\n      "a": "é",\n      "z": 1\n    }\n  ]\n}\n'
    )
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json_atomic(tmp_path / "b.json", {"a": float("nan")})


def test_replace_tree_leaves_nothing_of_the_old_one(tmp_path):
    replace_tree(tmp_path / "t", {"a.ts": b"1", "deep/er/b.ts": b"\r\n\r"})
    replace_tree(tmp_path / "t", {"deep/c.ts": b"2"})
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == ["t", "t/deep", "t/deep/c.ts"]
    assert (tmp_path / "t/deep/c.ts").read_bytes() == b"2"
