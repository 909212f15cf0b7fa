"""wmo-materialize where the disk does not do what it should: the old tree stays."""

import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def test_a_file_that_cannot_be_written_leaves_the_old_tree(tmp_path):
    """A file size limit stands for a full disk: both fail in write(2), in the middle of the tree."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "keep").write_text("kept")
    command = "ulimit -f 16; wmo-vendor tree | wmo-materialize --into out"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={"PATH": f"{BIN}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (74, "")
    assert "input/output failed" in done.stderr
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["out", "out/keep"]


def test_a_place_that_is_a_file_is_an_io_error(tmp_path):
    (tmp_path / "file").write_text("kept")
    done = subprocess.run(
        [
            "bash",
            "-c",
            "wmo-vendor tree | wmo-materialize --into file; wmo-vendor tree | wmo-materialize --into file/x",
        ],
        cwd=tmp_path,
        env={"PATH": f"{BIN}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.count("\n") == 2
    assert (tmp_path / "file").read_text() == "kept"
