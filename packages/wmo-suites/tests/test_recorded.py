"""Recorded episodes read back: which trials count, which steps of them, and what the digest holds."""

from pathlib import Path

import pytest
from wmo_contracts.episode import (
    Action,
    EnvironmentRef,
    EpisodeDocument,
    EpisodeResult,
    HarnessRef,
    Limits,
    ModelRef,
    Observation,
    Step,
    TaskRef,
    ToolSpec,
)
from wmo_contracts.score import CellDocument, ScoreCell
from wmo_kit.errors import BadDocument
from wmo_suites.recorded import read_recordings


def step(command: str, content: str = "", *, tool: str = "bash", note: str = "") -> Step:
    action = Action(kind="tool", name=tool, arguments={"command": command} if command else {})
    return Step(action=action, observation=Observation(content=content), state_before=note)


def trial(
    place: Path, *steps: Step, kind: str = "sandbox", task: str = "t", actions: int = 40, tree: str = "h"
) -> Path:
    """Write a finished trial as wmo-score leaves it."""
    place.mkdir(parents=True)
    episode = EpisodeDocument(
        task=TaskRef(id="t", instruction="Go."),
        harness=HarnessRef(path="source", tree_hash="h", doc_hash="d"),
        system="",
        tools=(ToolSpec(name="bash", description="", parameters={}),),
        limits=Limits(max_env_actions=actions),
        environment=EnvironmentRef(kind=kind),
        model=ModelRef(name="m"),
    )
    result = EpisodeResult(task_id=task, steps=steps, stop_reason="submitted", answer="", turns=len(steps))
    scored = ScoreCell(task_id="t", attempt=1, reward=1.0, passed=True, artifact_dir="trials/t/attempt-1")
    cell = CellDocument(cell=scored, tree_hash=tree, doc_hash="d", task_hash="t", request_hash="r")
    for name, document in (("episode.json", episode), ("wmo-run.json", result), ("cell.json", cell)):
        (place / name).write_text(document.to_text())
    return place


def commands(recordings) -> list[list[str]]:
    return [[one.action.arguments["command"] for one in episode.steps] for episode in recordings.episodes]


def test_finished_real_trials_of_runs_and_kept_folders_are_read_in_order(tmp_path):
    trial(tmp_path / "run/candidates/candidate-0001/trials/t/attempt-1", step("second"))
    trial(tmp_path / "run/candidates/candidate-0000/trials/t/attempt-1", step("first"))
    trial(tmp_path / "kept/trials/t/attempt-1", step("kept"))
    trial(tmp_path / "kept/trials/t/attempt-2.partial", step("cut short"))
    trial(tmp_path / "kept/trials/t/attempt-K", step("a crash folder"))
    trial(tmp_path / "kept/trials/t/attempt-3", step("not finished")).joinpath("cell.json").unlink()
    trial(tmp_path / "kept/trials/t/attempt-4", step("an oracle")).joinpath("episode.json").unlink()
    trial(tmp_path / "kept/trials/t/attempt-5", step("predicted", note="n"), kind="world-model")
    trial(tmp_path / "kept/trials/t/attempt-6", step("replayed"), kind="replay")
    found = read_recordings([tmp_path / "run", tmp_path / "kept"])
    assert commands(found) == [["first"], ["second"], ["kept"]]
    assert {episode.task_id for episode in found.episodes} == {"t"}


def test_only_what_the_environment_itself_answered_is_a_step(tmp_path):
    closing = Step(action=Action(kind="message", content="(pi runtime)"), observation=Observation(content="ended"))
    trial(
        tmp_path / "trials/t/attempt-1",
        step("one"),
        step("x", "unknown tool 'read_file': known are bash", tool="read_file"),
        step("", "the call of 'bash' was not executed: argument 'command' must be a string"),
        step("a\0b", "bad argument 'command' for 'bash': it holds a NUL character"),
        step("two"),
        step("three", "environment action budget exhausted"),
        closing,
        actions=3,
    )
    assert commands(read_recordings([tmp_path])) == [["one", "two"]]


def test_the_digest_holds_calls_and_observations_and_not_where_they_are(tmp_path):
    trial(tmp_path / "a/trials/t/attempt-1", step("one", "x"))
    trial(tmp_path / "b/trials/t/attempt-1", step("one", "x"))
    trial(tmp_path / "c/trials/t/attempt-1", step("one", "y"))
    first, moved, other = (read_recordings([tmp_path / name]).digest for name in "abc")
    assert first == moved != other
    assert read_recordings([tmp_path / "a", tmp_path / "b"]).digest != first
    assert read_recordings([]).digest == ""


def test_a_folder_without_real_trials_is_refused(tmp_path):
    trial(tmp_path / "trials/t/attempt-1", step("predicted"), kind="world-model")
    nowhere = tmp_path / "nowhere"
    for folder, why in ((tmp_path, "name a run, or a folder"), (nowhere, "there is no such folder")):
        with pytest.raises(BadDocument, match=f"no recorded episodes in '{folder}': {why}"):
            read_recordings([folder])


def test_the_trials_of_one_harness_can_be_left_out(tmp_path):
    trial(tmp_path / "trials/t/attempt-1", step("own"), tree="a")
    trial(tmp_path / "trials/t/attempt-2", step("another's"), tree="b")
    found = read_recordings([tmp_path])
    left = found.without_tree("a")
    assert (commands(left), left.digest) == ([["another's"]], found.digest)


def test_a_trial_that_does_not_hold_together_is_refused(tmp_path):
    place = trial(tmp_path / "trials/t/attempt-1", step("one"), task="another")
    with pytest.raises(BadDocument, match=r"wmo-run\.json': it is of task 'another', 'episode\.json' beside it of 't'"):
        read_recordings([tmp_path])
    (place / "wmo-run.json").write_text("{")
    with pytest.raises(BadDocument, match=r"cannot read '.*wmo-run\.json'"):
        read_recordings([tmp_path])
