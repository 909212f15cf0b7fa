"""What a run has used, added up from its own documents."""

import json
from pathlib import Path

import pytest
from wmo_contracts.episode import Usage
from wmo_contracts.score import CellDocument, ScoreCell
from wmo_kit.errors import BadDocument
from wmo_population.layout import RunLayout
from wmo_population.spending import Counted, counted, run_spending, slot_spending

TRIAL = Usage(calls=2, prompt_tokens=10, completion_tokens=5, cached_tokens=4, cost=0.25)
TURN = {"calls": 3, "prompt_tokens": 100, "completion_tokens": 50, "cached_tokens": 0, "cost": 1.5}


def cell(layout: RunLayout, slot: int, name: str, usage: Usage | None, **more: object) -> Path:
    folder = layout.candidate_dir(slot) / "trials" / "a-task" / name
    folder.mkdir(parents=True)
    document = CellDocument(
        cell=ScoreCell(task_id="a-task", attempt=1, reward=1.0, passed=True, artifact_dir="x"),
        tree_hash="",
        doc_hash="",
        task_hash="",
        request_hash="",
        usage=usage,
        **{"timings": {"agent": 1.5, "verifier": 0.25}, **more},
    )
    (folder / "cell.json").write_text(document.sealed().to_text())
    return folder / "cell.json"


def turn(folder: Path, **events: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.json").write_text(json.dumps(events))


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return RunLayout(tmp_path)


def test_a_slot_is_its_trials_and_its_turns(layout):
    cell(layout, 1, "attempt-1", TRIAL)
    cell(layout, 1, "attempt-2", TRIAL)
    turn(layout.proposal_dir(1), proposer="pi", usage=TURN, timings={"total": 7.5})
    turn(layout.proposal_dir(1) / "attempt-1", proposer="pi", usage=TURN, timings={"total": 1.0})
    spent = slot_spending(layout, 1)
    assert spent.worker == Usage(calls=4, prompt_tokens=20, completion_tokens=10, cached_tokens=8, cost=0.5)
    assert spent.proposer == Usage(calls=6, prompt_tokens=200, completion_tokens=100, cost=3.0)
    assert spent.timings == {"judge": 0.0, "proposer": 8.5, "verifier": 0.5, "worker": 3.0}
    assert (spent.total.tokens, spent.total.cost) == (330, 3.5)


def test_a_judge_and_a_world_are_told_apart_and_count(layout):
    judge, world = Usage(calls=1, prompt_tokens=7, cost=0.5), Usage(calls=9, prompt_tokens=90)
    timings = {"agent": 1.0, "judge": 2.0}
    cell(layout, 0, "attempt-1", TRIAL, judge_usage=judge, world_usage=world, timings=timings)
    cell(layout, 0, "attempt-2", TRIAL, judge_usage=judge, world_usage=world, timings=timings)
    cell(layout, 0, "attempt-3", TRIAL)
    spent = run_spending(layout, 0)
    assert (spent.judge.calls, spent.judge.cost, spent.world.prompt_tokens) == (2, 1.0, 180)
    assert spent.timings == {"judge": 4.0, "proposer": 0.0, "verifier": 0.25, "worker": 3.5}
    assert (spent.total.calls, spent.total.cost) == (6 + 2 + 18, 1.75)
    assert counted(layout, 0) == Counted(worker=3, proposer=0, world=2, judge=2)


def test_a_run_is_its_slots_and_the_one_in_hand(layout):
    for slot in range(3):
        cell(layout, slot, "attempt-1", TRIAL)
    assert run_spending(layout, 2).worker.calls == 6
    assert run_spending(layout, 1).worker.calls == 4


def test_what_tells_no_usage_counts_none(layout):
    cell(layout, 0, "attempt-1", None)
    turn(layout.proposal_dir(0), proposer="command", timings={"seconds": 2.0}, usage="of another kind")
    spent = slot_spending(layout, 0)
    assert (spent.worker, spent.proposer) == (Usage(), Usage())
    assert spent.timings["proposer"] == 2.0


def test_a_cell_that_was_changed_is_named(layout):
    path = cell(layout, 0, "attempt-1", TRIAL)
    path.write_text(path.read_text().replace('"calls": 2', '"calls": 1'))
    with pytest.raises(BadDocument, match=r"slot 0: .*cell\.json.* was changed"):
        slot_spending(layout, 0)
