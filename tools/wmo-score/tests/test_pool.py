import threading

import pytest
from wmo_contracts.score import CellDocument, ScoreCell
from wmo_kit.errors import BadDocument, Cancelled, Missing, Transient
from wmo_score.matrix import Trial
from wmo_score.pool import run_trials

TRIALS = [Trial("t", n) for n in range(1, 7)]


def cell(trial: Trial) -> CellDocument:
    body = ScoreCell(task_id="t", attempt=trial.attempt, reward=1.0, passed=True, artifact_dir=trial.artifact_dir)
    return CellDocument(cell=body, tree_hash="", doc_hash="", task_hash="", request_hash="")


def pool(run, *, jobs=2, stop=None, on_cell=lambda _cell: None):
    return run_trials(TRIALS, run, jobs=jobs, stop=stop or threading.Event(), on_cell=on_cell)


def test_runs_everything_and_reports_each_once():
    seen = []
    finished = pool(cell, on_cell=lambda done: seen.append(done.cell.attempt))
    assert list(finished.cells) == TRIALS
    assert sorted(seen) == [1, 2, 3, 4, 5, 6]
    assert not finished.failures


def test_trials_run_at_the_same_time():
    together = threading.Barrier(3)

    def run(trial: Trial) -> CellDocument:
        together.wait(timeout=20)
        return cell(trial)

    assert len(pool(run, jobs=3).cells) == 6


def test_no_verdict_starts_no_new_trial_and_lets_the_running_one_finish():
    other_runs = threading.Event()

    def run(trial: Trial) -> CellDocument:
        if trial.attempt == 1:
            other_runs.wait(20)
            raise Transient("no reward")
        other_runs.set()
        return cell(trial)

    finished = pool(run)
    assert finished.failures == {TRIALS[0]: "no reward"}
    assert TRIALS[1] in finished.cells


def test_after_trouble_on_one_thread_the_rest_is_not_started():
    def run(trial: Trial) -> CellDocument:
        if trial.attempt == 2:
            raise Transient("no reward")
        return cell(trial)

    finished = pool(run, jobs=1)
    assert list(finished.cells) == TRIALS[:1]
    assert list(finished.failures) == TRIALS[1:2]


def test_a_stop_ends_it_without_a_failure():
    stop = threading.Event()

    def run(trial: Trial) -> CellDocument:
        if trial.attempt == 3:
            stop.set()
            raise Cancelled("stop")
        return cell(trial)

    finished = pool(run, jobs=1, stop=stop)
    assert list(finished.cells) == TRIALS[:2]
    assert not finished.failures


def test_other_errors_are_raised():
    def run(_trial: Trial) -> CellDocument:
        raise BadDocument("broken task")

    with pytest.raises(BadDocument, match="broken task"):
        pool(run)


def test_what_is_missing_for_a_trial_is_raised_with_its_name():
    def run(_trial: Trial) -> CellDocument:
        raise Missing("the model refuses")

    with pytest.raises(Missing, match="no verdict for 't #1': the model refuses"):
        pool(run, jobs=1)
