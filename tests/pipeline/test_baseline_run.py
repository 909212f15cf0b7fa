"""The loop over the second runtime: SEED=baseline, as a user starts it."""

import json

import pytest


@pytest.fixture(scope="module")
def finished(shell, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "base"
    done = shell(f"make run SEED=baseline RUN={run} SLOTS=3")
    assert done.returncode == 0, done.stderr[-3000:]
    return run


def test_the_scores_are_those_of_the_same_edits_of_pi(shell, finished):
    view = json.loads(shell(f"wmo-state status {finished}").stdout)
    assert [outcome["score"] for outcome in view["outcomes"]] == pytest.approx([4 / 12, 6 / 12, 6 / 12, 9 / 12])
    assert view["best"]["score"] > view["outcomes"][0]["score"]
    assert view["settings"]["seed"] == "baseline"


def test_a_slot_writes_a_loop_of_its_own(shell, finished, tmp_path):
    done = shell(f"wmo-state best {finished} | wmo-materialize --into {tmp_path}/best")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "best").iterdir()) == ["SYSTEM.md", "config.toml", "runtime.py"]
    assert "CHECK_REMINDER" in (tmp_path / "best/runtime.py").read_text()


def test_the_run_verifies_and_a_trial_of_it_can_be_played_again(shell, finished):
    assert shell(f"wmo-state verify {finished}").returncode == 0
    trial = f"{finished}/candidates/candidate-0003/trials/csv-repair/attempt-1"
    done = shell(f"wmo-shim --replay {trial}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stop_reason"] == "submitted"
