"""Trials in a world model and from recorded episodes, through the installed tools: a real scoring, then both of it."""

import json
import shutil
from pathlib import Path

import pytest

NO_MODEL = {"WMO_BASE_URL": "http://127.0.0.1:9/v1", "WMO_MODEL": "none", "WMO_API_KEY": "none"}
TASKS = ("csv-repair", "fix-script")
ACT = "node --experimental-strip-types entry.ts"


@pytest.fixture(scope="module")
def place(shell, root, tmp_path_factory) -> Path:
    """The seed of pi, and in kept/ its real trials at two tasks that a judge passes unasked."""
    place = tmp_path_factory.mktemp("world")
    for task in TASKS:
        shutil.copytree(root / "suites/starter" / task, place / "suite" / task)
        (place / "suite" / task / "gold.toml").write_text("assertions = []\n")
    done = shell(f"wmo-vendor tree > {place}/pi.json && {score(place, 'kept')}")
    assert done.returncode == 0, done.stderr
    for kind in ("world-model", "replay"):
        done = shell(f"{score(place, kind)} --env {kind} --recorded {place}/kept --judge")
        assert done.returncode == 0, done.stderr
        (place / f"{kind}.json").write_text(done.stdout)
    return place


def score(place: Path, keep: str) -> str:
    return f"wmo-score {place}/pi.json --suite {place}/suite --keep {place}/{keep}"


def trial(place: Path, keep: str, task: str = "fix-script") -> Path:
    return place / keep / "trials" / task / "attempt-1"


def document(path: Path) -> dict:
    return json.loads(path.read_text())


def seen(folder: Path) -> list:
    steps = document(folder / "wmo-run.json")["steps"]
    return [(step["action"], step["observation"]["content"], step["observation"]["is_error"]) for step in steps]


@pytest.mark.parametrize("kind", ["world-model", "replay"])
@pytest.mark.parametrize("task", TASKS)
def test_the_harness_that_was_recorded_sees_what_it_saw_then(place, kind, task):
    predicted, real = trial(place, kind, task), trial(place, "kept", task)
    assert seen(predicted) == seen(real)
    assert len(seen(real)) > 1
    environment = document(predicted / "episode.json")["environment"]
    assert (environment["kind"], environment["recorded"]) == (kind, ["../../../../kept"])
    told = document(place / f"{kind}.json")
    assert (told["simulated"], told["environment"]) == (True, kind)


def test_a_world_model_leaves_its_notes_exchanges_and_usage(place):
    folder = trial(place, "world-model")
    notes = [step["state_before"] for step in document(folder / "wmo-run.json")["steps"]]
    assert notes[0] == ""
    assert all(notes[1:])
    exchanges = document(folder / "world-exchanges.json")
    asked = json.loads(exchanges["exchanges"][0]["new_messages"][1]["content"])
    assert asked["instruction"] == (place / "suite/fix-script/instruction.md").read_text()
    assert asked["recorded_examples"][0]["same_call"] is True
    cell = document(folder / "cell.json")
    assert cell["world_usage"]["calls"] == exchanges["total"] == len(notes)
    assert cell["usage"]["calls"] != 0
    replayed = trial(place, "replay")
    assert document(replayed / "cell.json")["world_usage"] is None
    assert not (replayed / "world-exchanges.json").exists()


def test_finished_cells_are_kept_unless_the_recorded_episodes_are_others(place, shell, tmp_path):
    shutil.copytree(place / "replay", tmp_path / "replay")
    line = f"wmo-score {place}/pi.json --suite {place}/suite --keep {tmp_path}/replay --judge --env replay"
    again = shell(f"{line} --recorded {place}/kept")
    assert "2 of 2 trials are kept" in again.stderr
    shutil.copytree(trial(place, "kept"), tmp_path / "fewer/trials/fix-script/attempt-1")
    other = shell(f"{line} --recorded {tmp_path}/fewer")
    assert other.stderr.count("runs again: the request changed") == 2
    told = seen(tmp_path / "replay/trials/csv-repair/attempt-1")
    assert told
    assert all(is_error and "not recorded: " in content for _, content, is_error in told)
    assert seen(tmp_path / "replay/trials/fix-script/attempt-1") == seen(trial(place, "kept"))


@pytest.mark.parametrize("kind", ["world-model", "replay"])
def test_a_trial_plays_again_by_hand_and_without_any_model(place, shell, kind):
    folder = trial(place, kind)
    done = shell(f"wmo-shim --episode {folder}/episode.json -- {ACT}")
    assert done.returncode == 0, done.stderr
    played, recorded = json.loads(done.stdout), document(folder / "wmo-run.json")
    del played["timings"], recorded["timings"]
    assert played == recorded
    again = shell(f"wmo-shim --replay {folder}", env=NO_MODEL)
    assert (again.returncode, json.loads(again.stdout)["replay"]["outcome"]) == (0, "same"), again.stderr
    refused = shell(f"wmo-shim --replay {folder} --tools real", env=NO_MODEL)
    assert (refused.returncode, "this trial had none" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ("--env world-model", 2, "a world model has no workspace for a verifier: add '--judge'"),
        ("--env replay --recorded {0}/kept", 2, "a replay has no workspace for a verifier: add '--judge'"),
        ("--env replay --judge", 2, "name a run or a kept scoring with '--recorded DIR'"),
        ("--recorded {0}/kept", 2, "'--recorded' is for '--env world-model' and '--env replay'"),
        ("--env replay --judge --recorded {0}/replay", 65, "no recorded episodes in '{0}/replay'"),
    ],
)
def test_what_cannot_work_is_refused_by_both_tools(place, shell, tmp_path, options, code, says):
    options = options.format(place)
    for line in (
        f"wmo-score {place}/pi.json --suite {place}/suite {options}",
        f"wmo-state init {tmp_path}/run --seed pi --suite {place}/suite --slots 0 {options}",
    ):
        done = shell(line)
        assert (done.returncode, says.format(place) in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "run").exists()


def test_a_harness_can_be_played_without_its_own_trials_as_examples(place, shell):
    line = f"wmo-score {place}/pi.json --suite {place}/suite --env world-model --judge --recorded {place}/kept"
    gap = "no recorded episodes: the world model guesses"
    for option, told in (("", False), ("--leave-own-out", True)):  # pi's are the only ones there
        done = shell(f"{line} {option}")
        assert (done.returncode, gap in done.stderr) == (0, told), done.stderr


def test_an_oracle_needs_a_real_workspace(place, shell):
    done = shell(f"wmo-score --suite {place}/suite --agent oracle --env world-model")
    assert (done.returncode, "works in a real workspace" in done.stderr) == (2, True)


def test_a_run_in_a_world_model_is_told_apart_and_held_to_its_recorded_episodes(place, shell, root, tmp_path):
    run, kept = tmp_path / "run", tmp_path / "kept"
    shutil.copytree(place / "kept", kept)
    init = f"wmo-state init {run} --seed pi --suite {place}/suite --slots 0 --tasks fix-script"
    made = shell(f"{init} --env world-model --recorded {kept} --judge")
    assert made.returncode == 0, made.stderr
    settings = json.loads(made.stdout)["settings"]
    assert (settings["environment"], settings["recorded"]) == ("world-model", ["../kept"])
    assert settings["world"]["model"] == "offline-world"
    plan = json.loads(shell(f"wmo-score --run {run} --dry-run").stdout)
    assert plan["world"]["worst_case"]["calls"] == 40 * 3

    shutil.move(kept / "trials/csv-repair", tmp_path / "away")
    changed = shell(f"wmo-score --run {run}")
    assert changed.returncode == 65
    assert f"the recorded episodes in '{kept}' are not those that the run was made with" in changed.stderr
    asked = shell(f"{init} --env world-model --recorded {kept} --judge")
    assert (asked.returncode, "--recorded: the run has '../kept, episodes" in asked.stderr) == (78, True)
    shutil.move(tmp_path / "away", kept / "trials/csv-repair")

    assert shell(f"wmo-score --run {run}").returncode == 0
    status = json.loads(shell(f"wmo-state status {run}").stdout)
    assert status["spent"]["world"]["calls"] > 0
    assert shell(f"wmo-state verify {run}").returncode == 0
    table = shell(f"invoke -r {root} status --run {run}").stdout
    assert "environment: world model (predicted)" in table
    assert shell(f"wmo-state init {run} --slots 1").returncode == 0
    shutil.move(kept / "trials/csv-repair", tmp_path / "away")
    for line, code in (("wmo-propose --run {}", 65), ("wmo-state init {} --slots 2", 65), ("wmo-state verify {}", 1)):
        done = shell(line.format(run))
        assert done.returncode == code, done.stderr
        assert f"the recorded episodes in '{kept}' are not those that the run was made with" in done.stderr
    assert not (run / "proposals").exists()  # no turn was bought for a candidate that could not be scored
    shutil.move(tmp_path / "away", kept / "trials/csv-repair")

    (trial(run / "candidates", "candidate-0000") / "world-exchanges.json").write_text("{")
    assert "world-exchanges.json" in shell(f"wmo-state verify {run}").stderr
    for options in ("--env replay", "--env sandbox"):
        assert shell(f"wmo-state init {run} {options}").returncode == 78
        assert shell(f"wmo-score --run {run} --dry-run {options}").returncode == 78
