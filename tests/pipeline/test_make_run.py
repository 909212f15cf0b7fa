"""The main job as a user starts it: `make run` on the starter suite with the offline model, without a terminal."""

import json

import pytest


@pytest.fixture(scope="module")
def finished(shell, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "demo"
    done = shell(f"make run RUN={run}")
    assert done.returncode == 0, done.stderr[-3000:]
    return run, done


def status(shell, run):
    return json.loads(shell(f"wmo-state status {run}").stdout)


def test_the_seed_is_middling_and_the_best_is_better(shell, finished):
    view = status(shell, finished[0])
    assert view["completed"]
    assert len(view["outcomes"]) == 5
    assert 0 < view["outcomes"][0]["score"] < view["best"]["score"] <= 1


def test_the_scores_are_the_same_on_every_machine(shell, finished):
    scores = [outcome["score"] for outcome in status(shell, finished[0])["outcomes"]]
    assert scores == pytest.approx([4 / 12, 6 / 12, 6 / 12, 9 / 12, 10 / 12])


def test_a_slot_changes_the_source_of_pi(shell, finished):
    changed = [name for outcome in status(shell, finished[0])["outcomes"] for name in outcome["changed_files"]]
    assert any(name.startswith("src/") and name.endswith(".ts") for name in changed)


def test_the_table_says_what_a_person_must_know(finished):
    table = finished[1].stdout
    assert "offline model: simulated" in table
    assert "wmo-state best" in table
    assert "candidate-0004" in table


def test_a_second_make_run_has_nothing_to_do(shell, finished):
    run, _ = finished
    before = (run / "state.json").stat().st_mtime_ns
    done = shell(f"make run RUN={run}")
    assert done.returncode == 0
    assert (run / "state.json").stat().st_mtime_ns == before


def test_the_winner_can_be_written_out(shell, finished, tmp_path):
    done = shell(f"wmo-state best {finished[0]} | wmo-materialize --into {tmp_path}/best")
    assert done.returncode == 0, done.stderr
    assert "check your work" in (tmp_path / "best/src/agent-loop.ts").read_text().lower()


def test_the_run_verifies(shell, finished):
    assert shell(f"wmo-state verify {finished[0]}").returncode == 0
