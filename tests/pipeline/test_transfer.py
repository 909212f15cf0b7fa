"""The transfer check with the offline model: of a run in real sandboxes, and of one that was made in simulation."""

import json

import pytest

TASKS = ("fix-script", "permissions")
RULE = "echo 'Every reply must contain a tool call.' >> candidate/SYSTEM.md; echo acted"


@pytest.fixture(scope="module")
def real(shell, tmp_path_factory):
    """Give a finished run in real sandboxes, whose best is its only slot."""
    run = tmp_path_factory.mktemp("real") / "run"
    line = f"wmo-state init {run} --seed pi --suite suites/starter --tasks {','.join(TASKS)} --slots 1"
    done = shell(f'{line} --proposer command -- sh -c "{RULE}" && invoke resume --run {run}')
    assert done.returncode == 0, done.stderr
    return run


def read(run, name):
    return json.loads((run / "transfer" / f"{name}.json").read_text())


def cells(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("cell.json")}


def environments(folder):
    return {json.loads(path.read_text())["environment"]["kind"] for path in folder.rglob("episode.json")}


def test_a_real_run_is_played_in_simulation_too(shell, real):
    before = cells(real / "candidates")
    done = shell(f"make --no-print-directory transfer RUN={real} JOBS=2")
    assert done.returncode == 0, done.stderr
    assert read(real, "real-best")["report"] == json.loads((real / "candidates/candidate-0001/report.json").read_text())
    assert cells(real / "candidates") == before
    assert environments(real / "transfer/simulated") == {"world-model"}
    assert {path.name for path in (real / "transfer/simulated").iterdir()} == {"candidate-0000", "candidate-0001"}
    found = read(real, "agreement")
    assert [row["task_id"] for row in found["tasks"]] == list(TASKS)
    assert (found["transfer"]["gain_b"]["gain"], found["transfer"]["carries_over"]) == (0.5, None)
    assert found["a"]["score"] == pytest.approx(found["b"]["score"] + found["gap"])
    assert found["sentence"] in done.stdout and found["sentence"] in done.stderr
    assert all(task in done.stdout for task in TASKS)

    played = cells(real / "transfer")
    again = shell(f"make --no-print-directory transfer RUN={real}")
    assert (again.returncode, cells(real / "transfer")) == (0, played), again.stderr
    assert "candidate-0001: 2 of 2 trials are kept" in again.stderr
    assert read(real, "agreement") == found
    assert json.loads(shell(f"wmo-state verify {real}").stdout)["ok"]


def test_a_slots_scores_are_a_document(shell, real):
    seed, best = (json.loads(shell(f"wmo-state scores {real} {slot}").stdout) for slot in ("--slot 0", ""))
    assert (seed["schema"], seed["candidate_id"], seed["score"]) == ("wmo.score/1", "candidate-0000", 0.5)
    assert (best["candidate_id"], best["score"], best["simulated"]) == ("candidate-0001", 1, True)
    none = shell(f"wmo-state scores {real} --slot 7")
    assert (none.returncode, none.stdout, "slot 7 of" in none.stderr) == (1, "", True)


def test_a_run_made_in_simulation_is_scored_for_real_and_leaks_nothing(shell, tmp_path):
    run, kept = tmp_path / "run", tmp_path / "kept"
    recorded = shell(f"wmo-vendor tree | wmo-score - --suite suites/starter --task fix-script --keep {kept}")
    assert recorded.returncode == 0, recorded.stderr
    line = f"wmo-state init {run} --seed pi --suite suites/starter --tasks csv-repair --holdout fix-script --slots 0"
    score = f"wmo-score --run {run}"
    made = shell(f"{line} --env world-model --judge --recorded {kept} && {score} && {score}")
    assert made.returncode == 0, made.stderr
    shown, hidden = (
        "".join(path.read_text() for path in (run / name).rglob("world-exchanges.json"))
        for name in ("candidates", "holdout")
    )
    assert '"content": ' in shown and "collect.sh" in hidden
    assert "collect.sh" not in shown  # though nothing else is recorded that could be an example

    done = shell(f"invoke transfer --run {run}")
    assert done.returncode == 0, done.stderr
    assert environments(run / "transfer/real") == {"sandbox"}
    report = json.loads((run / "candidates/candidate-0000/report.json").read_text())
    assert read(run, "simulated-seed")["report"] == report
    assert [row["task_id"] for row in read(run, "agreement")["tasks"]] == ["csv-repair"]
    assert "there is no gain in A that could carry over" in done.stdout
