"""What is broken about this machine is said (69), by every tool that needs it, and never becomes a score of 0."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
TASKS = ROOT / "tools/wmo-score/tests/tasks"


@pytest.fixture(scope="module")
def vendor(tmp_path_factory):
    """Give a vendor directory in which one file of a library is gone."""
    copy = tmp_path_factory.mktemp("vendor")
    for name in ("manifest.sha256", "package-lock.json"):
        shutil.copy(ROOT / "vendor" / name, copy)
    for name in ("pi-agent", "runtime"):
        shutil.copytree(ROOT / "vendor" / name, copy / name)
    (copy / "runtime/node_modules/typebox/index.js").unlink()
    return copy


def tool(*argv, vendor):
    env = os.environ | {"WMO_VENDOR": str(vendor)}
    return subprocess.run([BIN / argv[0], *argv[1:]], env=env, capture_output=True, text=True, check=False)


def test_a_damaged_library_stops_scoring_before_the_first_trial(vendor, tmp_path):
    run = tmp_path / "run"
    made = tool("wmo-state", "init", run, "--seed", "pi", "--suite", TASKS, "--slots", "1", vendor=vendor)
    assert made.returncode == 0, made.stderr
    scored = tool("wmo-score", "--run", run, vendor=vendor)
    assert (scored.returncode, scored.stdout) == (69, "")
    assert "node_modules' is damaged" in scored.stderr
    assert "wmo-vendor install" in scored.stderr
    assert not list(run.glob("candidates/*/trials"))
    repaired = tool("wmo-score", "--run", run, "--jobs", "2", vendor=ROOT / "vendor")
    assert repaired.returncode == 0, repaired.stderr
    proposed = tool("wmo-propose", "--run", run, vendor=vendor)
    assert (proposed.returncode, proposed.stdout) == (69, "")
    assert not list(run.glob("proposals/*"))
    episode = run / "candidates/candidate-0000/trials/greet/attempt-1/episode.json"
    served = tool("wmo-shim", "--episode", episode, "--", "true", vendor=vendor)
    assert (served.returncode, served.stdout) == (69, "")
