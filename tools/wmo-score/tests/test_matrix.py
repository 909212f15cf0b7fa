from dataclasses import replace

import pytest
from pydantic import ValidationError
from wmo_contracts.run import ModelSettings
from wmo_contracts.score import CellDocument, CellTests, ScoreRequest
from wmo_kit.errors import BadDocument
from wmo_score.matrix import (
    Conditions,
    Subject,
    Trial,
    changed_tasks,
    make_cell,
    make_plan,
    make_report,
    score_document,
    trials,
)

WORKER = ModelSettings(base_url="offline", model="offline-worker", api_key_env="WMO_API_KEY")
REQUEST = ScoreRequest(task_ids=("zebra", "ant"), attempts=2)
CONDITIONS = Conditions(REQUEST, "raw", "bwrap", "harness", WORKER)
SUBJECT = Subject("t" * 32, "d" * 32, CONDITIONS, {"zebra": "1", "ant": "2"})


def cell(trial: Trial, reward: float = 1.0, subject: Subject = SUBJECT) -> CellDocument:
    return make_cell(
        subject, trial, reward=reward, note="", tests=None, stop_reason="submitted", timings={"episode": 1.5}
    )


def all_cells(subject: Subject = SUBJECT) -> dict[Trial, CellDocument]:
    return {trial: cell(trial, subject=subject) for trial in trials(REQUEST)}


def test_trials_are_the_cross_product_sorted():
    assert trials(REQUEST) == (Trial("ant", 1), Trial("ant", 2), Trial("zebra", 1), Trial("zebra", 2))


def test_nothing_found_makes_everything_due():
    plan = make_plan(SUBJECT, {})
    assert plan.due == trials(REQUEST)
    assert not plan.kept and not plan.outdated


def test_matching_cells_are_kept_and_only_missing_ones_run():
    found = all_cells()
    del found[Trial("ant", 2)]
    plan = make_plan(SUBJECT, found)
    assert plan.due == (Trial("ant", 2),)
    assert dict(plan.kept) == found


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (replace(SUBJECT, tree_hash="x"), "the harness changed"),
        (replace(SUBJECT, doc_hash="x"), "the harness changed"),
        (replace(SUBJECT, conditions=replace(CONDITIONS, reward_mode="positive-binary")), "the request changed"),
        (replace(SUBJECT, conditions=replace(CONDITIONS, sandbox="none")), "the request changed"),
        (replace(SUBJECT, conditions=replace(CONDITIONS, agent="nop")), "the request changed"),
        (
            replace(SUBJECT, conditions=replace(CONDITIONS, worker=WORKER.model_copy(update={"model": "other"}))),
            "the request changed",
        ),
        (
            replace(SUBJECT, conditions=replace(CONDITIONS, request=REQUEST.model_copy(update={"attempts": 3}))),
            "the request changed",
        ),
    ],
)
def test_cells_measured_on_something_else_run_again(subject: Subject, reason: str):
    plan = make_plan(subject, all_cells())
    assert set(plan.outdated.values()) == {reason}
    assert not plan.kept
    assert plan.due == trials(subject.conditions.request)


def test_a_changed_task_reruns_that_task_alone():
    plan = make_plan(replace(SUBJECT, task_hashes={"zebra": "9", "ant": "2"}), all_cells())
    assert dict(plan.outdated) == {Trial("zebra", 1): "the task changed", Trial("zebra", 2): "the task changed"}
    assert set(plan.kept) == {Trial("ant", 1), Trial("ant", 2)}


def test_a_cell_in_another_trials_folder_is_refused():
    with pytest.raises(BadDocument, match=r"trials/ant/attempt-1': it is of another trial, ant #2: move"):
        make_plan(SUBJECT, {Trial("ant", 1): cell(Trial("ant", 2))})


def test_a_cell_that_contradicts_itself_is_refused():
    document = cell(Trial("ant", 1), 0.0)
    passed = document.model_copy(update={"cell": document.cell.model_copy(update={"passed": True})})
    with pytest.raises(BadDocument, match=r"trials/ant/attempt-1': passed is True, but its reward is 0\.0: move"):
        make_plan(SUBJECT, {Trial("ant", 1): passed})


def test_a_stand_in_reward_is_not_kept():
    document = cell(Trial("ant", 1), 0.0)
    stand_in = document.model_copy(update={"cell": document.cell.model_copy(update={"infra_failed": True})})
    assert Trial("ant", 1) in make_plan(SUBJECT, {Trial("ant", 1): stand_in}).due


def test_the_key_variables_name_changes_no_hash():
    other = replace(CONDITIONS, worker=WORKER.model_copy(update={"api_key_env": "MY_KEY"}))
    assert other.request_hash == CONDITIONS.request_hash


def test_a_judge_is_part_of_the_request_and_without_one_old_hashes_stay():
    assert CONDITIONS.request_hash == "0c7f45975e748071d5a4809ca6d36ed2", "cells of earlier versions would run again"
    judged = replace(CONDITIONS, judge=WORKER.model_copy(update={"model": "offline-judge"}))
    assert judged.request_hash != CONDITIONS.request_hash
    assert replace(judged, judge=WORKER).request_hash != judged.request_hash
    kept = cell(Trial("ant", 1))
    assert make_plan(replace(SUBJECT, conditions=judged), {Trial("ant", 1): kept}).outdated == {
        Trial("ant", 1): "the request changed"}  # fmt: skip


def test_old_cells_stay_valid_where_the_environment_is_real():
    assert (
        CONDITIONS.request_hash == "0c7f45975e748071d5a4809ca6d36ed2"
    )  # as it was before there were other environments


def test_another_environment_other_recorded_episodes_or_another_world_are_another_request():
    world = WORKER.model_copy(update={"model": "offline-world"})
    one = replace(CONDITIONS, environment="world-model", recorded_hash="r", world=world)
    other = [
        CONDITIONS,
        replace(one, environment="replay", world=None),
        replace(one, recorded_hash="s"),
        replace(one, leave_own_out=True),
        replace(one, world=world.model_copy(update={"model": "mine"})),
    ]
    assert len({conditions.request_hash for conditions in [one, *other]}) == 6
    key = replace(one, world=world.model_copy(update={"api_key_env": "MY_KEY"}))
    assert key.request_hash == one.request_hash


@pytest.mark.parametrize("role", ["worker", "judge", "world"])
def test_one_offline_model_makes_a_simulation(role):
    real = WORKER.model_copy(update={"base_url": "http://real/v1", "model": "mine"})
    conditions = replace(CONDITIONS, worker=real, judge=real, world=real)
    assert not conditions.simulated
    assert replace(conditions, **{role: WORKER}).simulated


def test_report_is_sorted_and_scores_by_task():
    cells = all_cells()
    cells[Trial("ant", 2)] = cell(Trial("ant", 2), 0.5)
    report = make_report(SUBJECT, dict(reversed(cells.items())))
    assert [(c.task_id, c.attempt, c.passed) for c in report.cells] == [
        ("ant", 1, True),
        ("ant", 2, False),
        ("zebra", 1, True),
        ("zebra", 2, True),
    ]
    assert report.cells[1].artifact_dir == "trials/ant/attempt-2"
    document = score_document("pi", report, simulated=True)
    assert (document.score, document.pass_rate, document.simulated) == (0.75, 0.75, True)


def test_positive_binary_passes_a_part():
    subject = replace(SUBJECT, conditions=replace(CONDITIONS, reward_mode="positive-binary"))
    document = make_cell(
        subject,
        Trial("ant", 1),
        reward=0.5,
        note="",
        tests=CellTests(passed=1, resolved=2, unresolved=0),
        stop_reason=None,
        timings={},
    )
    assert document.cell.passed


def test_a_missing_cell_makes_no_report():
    cells = all_cells()
    del cells[Trial("ant", 1)]
    with pytest.raises(ValidationError, match="exactly the request's"):
        make_report(SUBJECT, cells)


def test_names_the_tasks_that_changed_since():
    now = replace(SUBJECT, task_hashes={"zebra": "9"})
    assert changed_tasks(now.task_hashes, all_cells().values()) == ("zebra",)
    assert changed_tasks(SUBJECT.task_hashes, all_cells().values()) == ()
