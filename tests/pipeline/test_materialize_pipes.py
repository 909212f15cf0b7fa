"""wmo-vendor and wmo-materialize in the pipes of their documents."""

import json
import os
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def shell(command, cwd):
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=cwd,
        env={"PATH": f"{BIN}:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def contents(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_seed_goes_to_disk_and_back_unchanged(tmp_path):
    code, out, _ = shell("wmo-vendor tree | tee seed.json | wmo-materialize --into pi", tmp_path)
    document = json.loads(out)
    seed = json.loads((tmp_path / "seed.json").read_text("utf-8"))
    assert code == 0
    assert document == {
        "schema": "wmo.materialized/1",
        "where": "pi",
        "files": 27,
        "tree_hash": seed["tree_hash"],
    }
    assert contents(tmp_path / "pi") == {file["path"]: file["content"].encode() for file in seed["files"]}
    code, out, _ = shell("wmo-materialize --snapshot pi", tmp_path)
    assert (code, out) == (0, (tmp_path / "seed.json").read_text("utf-8"))


def test_exact_bytes_and_whole_replacement(tmp_path):
    source = tmp_path / "source"
    (source / "src").mkdir(parents=True)
    (source / "SYSTEM.md").write_bytes("a\r\nb\rc\u2028é".encode())
    (source / "src" / "a.ts").write_bytes(b"")
    old = tmp_path / "out" / "src" / "a.ts" / "was-a-directory"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    code, _, _ = shell("wmo-materialize --snapshot source --name n | wmo-materialize - --into out", tmp_path)
    assert code == 0
    assert contents(tmp_path / "out") == contents(source)


def test_a_document_file_is_read_too(tmp_path):
    (tmp_path / "h.json").write_text(
        json.dumps({"schema": "wmo.harness/1", "name": "n", "files": [{"path": "x", "content": "y"}]})
    )
    code, out, _ = shell("wmo-materialize h.json --into new/deep", tmp_path)
    assert (code, json.loads(out)["files"]) == (0, 1)
    assert contents(tmp_path / "new" / "deep") == {"x": b"y"}


def refused(tmp_path, text):
    """Write over an existing tree from a bad document; the tree must stay. Gives exit code and message."""
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "keep").write_text("kept")
    (tmp_path / "bad.json").write_text(text)
    code, out, err = shell("wmo-materialize --into out < bad.json", tmp_path)
    assert out == ""
    assert contents(tmp_path) == {"out/keep": b"kept", "bad.json": text.encode()}
    return code, err


def harness(*files, **more):
    listed = [{"path": path, "content": content} for path, content in files]
    return json.dumps({"schema": "wmo.harness/1", "name": "n", "files": listed} | more)


def test_bad_documents_touch_nothing(tmp_path):
    assert refused(tmp_path, "")[0] == 65
    assert refused(tmp_path, '{"schema": "wmo.harness/2"}')[0] == 65
    assert refused(tmp_path, harness(("x", "\ud800")))[0] == 65
    code, message = refused(tmp_path, harness(("../evil", "x")))
    assert code == 65
    assert "'../evil'" in message
    code, message = refused(tmp_path, harness(("SYSTEM.md", "x"), tree_hash="0" * 32))
    assert code == 65
    assert "'tree_hash'" in message
    code, message = refused(tmp_path, harness(("SYSTEM.md", "x"), ("src/A.ts", ""), doc_hash="0" * 32))
    assert code == 65
    assert "src/A.ts" in message


def test_a_snapshot_of_no_harness_names_the_reason(tmp_path):
    (tmp_path / "t").mkdir()
    code, out, err = shell("wmo-materialize --snapshot t", tmp_path)
    assert (code, out) == (65, "")
    assert "SYSTEM.md" in err
    (tmp_path / "t" / "SYSTEM.md").symlink_to("/etc/hostname")
    code, out, err = shell("wmo-materialize --snapshot t", tmp_path)
    assert (code, out) == (65, "")
    assert "symlink" in err
    assert shell("wmo-materialize --snapshot nowhere", tmp_path)[0] == 69


def test_the_current_directory_is_never_replaced(tmp_path):
    (tmp_path / "mine").write_text("keep")
    for target in (".", "..", str(tmp_path), "/"):
        code, _, err = shell(f"wmo-vendor tree | wmo-materialize --into {target}", tmp_path)
        assert code == 2, err
    assert contents(tmp_path) == {"mine": b"keep"}


def test_usage(tmp_path):
    for arguments in ("", "--into a --snapshot b", "--into a --name n", "x.json --snapshot b"):
        code, out, err = shell(f"wmo-materialize {arguments}", tmp_path)
        assert (code, out) == (2, "")
        assert "Usage" in err
    code, out, _ = shell("wmo-materialize --help", tmp_path)
    assert (code, "Example" in out) == (0, True)


def test_a_terminal_is_no_document(tmp_path):
    ours, theirs = os.openpty()
    tool = [BIN / "wmo-materialize", "--into", "out"]
    done = subprocess.run(tool, cwd=tmp_path, stdin=theirs, capture_output=True, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input" in done.stderr
    assert contents(tmp_path) == {}
