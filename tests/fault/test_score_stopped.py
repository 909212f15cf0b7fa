"""wmo-score stopped in the middle: finished cells stay, nothing it started stays alive."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import alive, command_lines, descendants, wait_gone, wait_until
from silent_model import silent_model

BIN = Path(sys.executable).parent
TASKS = Path(__file__).parents[2] / "tools/wmo-score/tests/tasks"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Give the fixture tasks, the last of which, serve, never ends for the oracle."""
    shutil.copytree(TASKS, tmp_path / "suite")
    (tmp_path / "suite/serve/solution/solve.sh").write_text("echo begun > /app/begun; sleep 600 & wait\n")
    return tmp_path / "suite"


class Scoring:
    """A wmo-score process in a process group of its own, with its working files below `room`."""

    def __init__(self, room: Path, *arguments: object, env: dict[str, str] | None = None) -> None:
        (room / "tmp").mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [BIN / "wmo-score", *map(str, arguments)],
            env={**os.environ, "TMPDIR": str(room / "tmp"), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_until(self, condition) -> None:
        wait_until(condition, self.process)

    def descendants(self) -> dict[int, str]:
        return descendants(self.process.pid)


def cells(keep: Path) -> dict[str, int]:
    return {path.parents[1].name: path.stat().st_mtime_ns for path in keep.glob("trials/*/*/cell.json")}


def busy(scoring: Scoring, room: Path, keep: Path):
    """Give a condition: the two short trials are finished, and the endless one has begun."""
    return lambda: set(cells(keep)) == {"count", "greet"} and any(room.rglob("serve.1/app/begun"))


def finish(suite: Path, keep: Path) -> dict:
    shutil.copy(TASKS / "serve/solution/solve.sh", suite / "serve/solution/solve.sh")
    done = subprocess.run(
        [BIN / "wmo-score", "--suite", suite, "--agent", "oracle", "--keep", keep], capture_output=True, check=True
    )
    return json.loads(done.stdout)


def test_sigkill_loses_no_finished_cell_and_leaves_nobody_behind(suite, tmp_path):
    keep = tmp_path / "kept"
    scoring = Scoring(tmp_path, "--suite", suite, "--agent", "oracle", "--jobs", 3, "--keep", keep)
    scoring.wait_until(busy(scoring, tmp_path, keep))
    below = scoring.descendants()
    assert "sleep" in below.values()
    before = cells(keep)
    scoring.process.kill()
    scoring.process.communicate()
    wait_gone(below)

    assert finish(suite, keep)["score"] == 1.0
    after = cells(keep)
    assert {task: after[task] for task in before} == before
    assert set(after) == {"count", "greet", "serve"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_polite_stop_ends_every_child_and_cleans_up(suite, tmp_path, number, code):
    keep = tmp_path / "kept"
    scoring = Scoring(tmp_path, "--suite", suite, "--agent", "oracle", "--jobs", 3, "--keep", keep)
    scoring.wait_until(busy(scoring, tmp_path, keep))
    below = scoring.descendants()
    before = cells(keep)
    for _ in range(3):  # an impatient user
        scoring.process.send_signal(number)
    output, words = scoring.process.communicate(timeout=30)
    assert (scoring.process.returncode, output) == (code, ""), words
    assert not alive(below)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert "Traceback" not in words
    assert cells(keep) == before
    assert finish(suite, keep)["score"] == 1.0


def test_ctrl_c_reaches_the_whole_group_and_still_stops_cleanly(suite, tmp_path):
    keep = tmp_path / "kept"
    scoring = Scoring(tmp_path, "--suite", suite, "--agent", "oracle", "--jobs", 3, "--keep", keep)
    scoring.wait_until(busy(scoring, tmp_path, keep))
    below = scoring.descendants()
    os.killpg(scoring.process.pid, signal.SIGINT)
    _, words = scoring.process.communicate(timeout=30)
    assert scoring.process.returncode == 130, words
    assert not alive(below)
    assert set(cells(keep)) == {"count", "greet"}
    assert [path.name for path in (keep / "trials/serve").iterdir()] == ["attempt-1.partial"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_episode_with_node_ends_with_us_and_leaves_its_transcript(suite, tmp_path, number, code):
    with (tmp_path / "pi.json").open("w") as file:
        subprocess.run([BIN / "wmo-vendor", "tree"], stdout=file, check=True)
    keep = tmp_path / "kept"
    with silent_model() as (address, asked):
        env = {"WMO_BASE_URL": address, "WMO_MODEL": "silent", "WMO_API_KEY": "none"}
        scoring = Scoring(tmp_path, tmp_path / "pi.json", "--suite", suite, "--task", "greet", "--keep", keep, env=env)
        scoring.wait_until(asked.is_set)
        below = scoring.descendants()
        assert any("entry.ts" in line for line in command_lines(below))
        scoring.process.send_signal(number)
        output, words = scoring.process.communicate(timeout=30)
    assert (scoring.process.returncode, output) == (code, "")
    assert "Traceback" not in words
    wait_gone(below)
    if number == signal.SIGKILL:
        return
    assert [path.name for path in (keep / "trials/greet").iterdir()] == ["attempt-1.partial"]
    partial = keep / "trials/greet/attempt-1.partial"
    assert sorted(path.name for path in partial.iterdir()) == ["episode.json", "exchanges.json", "wmo-run.json"]
    result = json.loads((partial / "wmo-run.json").read_text())
    assert [step["observation"]["content"] for step in result["steps"]] == [
        "so far\n",
        "the episode was stopped before /done",
    ]
    assert (result["stop_reason"], result["usage"]["calls"]) == ("error", 1)
    assert address.removeprefix("http://").removesuffix("/v1") not in (partial / "wmo-run.json").read_text()


def test_a_verifier_that_hangs_delays_no_stop_and_its_first_word_is_no_verdict(suite, tmp_path):
    (suite / "greet/tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt; sleep 600\n")
    keep = tmp_path / "kept"
    scoring = Scoring(tmp_path, "--suite", suite, "--task", "greet", "--agent", "oracle", "--keep", keep)
    scoring.wait_until((keep / "trials/greet/attempt-1/verifier/reward.txt").exists)
    below = scoring.descendants()
    scoring.process.send_signal(signal.SIGTERM)
    _, words = scoring.process.communicate(timeout=30)
    assert scoring.process.returncode == 143, words
    assert not alive(below)
    assert [path.name for path in (keep / "trials/greet").iterdir()] == ["attempt-1.partial"]
    assert not list(keep.rglob("cell.json"))
