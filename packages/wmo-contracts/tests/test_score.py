"""The score report refuses what is not complete or not honest, and its arithmetic is design 4's."""

import json

import pytest
from pydantic import ValidationError
from wmo_contracts.score import ScoreDocument, ScoreReport


def cell(task, attempt, reward, passed, **more):
    return {"task_id": task, "attempt": attempt, "reward": reward, "passed": passed, "artifact_dir": "", **more}


def report(cells, mode="raw", tasks=("b", "a"), attempts=2):
    body = {"doc_hash": "0", "request": {"task_ids": tasks, "attempts": attempts}, "reward_mode": mode, "cells": cells}
    return ScoreReport.model_validate(body, strict=False)


GOOD = [cell("a", 1, 1.0, True), cell("a", 2, 0.5, False), cell("b", 1, 1.0, True), cell("b", 2, 1.0, True)]


def test_score_is_the_mean_of_task_rates_and_pass_rate_is_flat():
    assert report(GOOD).score == 0.75
    assert report(GOOD).pass_rate == 0.75


def test_positive_binary_passes_above_zero():
    cells = [cell("a", 1, 0.25, True), cell("a", 2, 0.0, False)]
    assert report(cells, "positive-binary", ("a",)).score == 0.5


@pytest.mark.parametrize(
    "cells",
    [
        GOOD[:3],
        [*GOOD, GOOD[3]],
        [GOOD[1], GOOD[0], *GOOD[2:]],
        [cell("a", 1, 1.0, False), *GOOD[1:]],
        [cell("a", 1, 0.99, True), *GOOD[1:]],
        [cell("a", 1, 1.5, True), *GOOD[1:]],
        [cell("a", 1, float("nan"), False), *GOOD[1:]],
        [cell("a", 1, 1.0, True, note="x" * 2001), *GOOD[1:]],
        [cell("a", 1, 1.0, True, tests={"passed": 0, "resolved": 0, "unresolved": 0}), *GOOD[1:]],
    ],
)
def test_refused(cells):
    with pytest.raises(ValidationError):
        report(cells)


@pytest.mark.parametrize(("tasks", "attempts"), [((), 1), (("a", "a"), 1), (("a",), 0)])
def test_a_bad_request_is_refused(tasks, attempts):
    with pytest.raises(ValidationError):
        report([], tasks=tasks, attempts=attempts)


def test_booleans_are_no_numbers():
    body = report(GOOD).model_dump(mode="json")
    body["cells"][0]["reward"] = True
    with pytest.raises(ValidationError, match="reward"):
        ScoreReport.model_validate_json(json.dumps(body))


def test_a_request_of_a_million_million_attempts_is_refused_at_once():
    with pytest.raises(ValidationError, match="exactly the request's tasks x attempts"):
        report(GOOD, attempts=10**12)


@pytest.mark.parametrize("said", [{}, {"score": 0.75004}, {"pass_rate": 0.74996}])
def test_a_document_may_round_what_its_report_gives(said):
    assert document(**said).report.score == 0.75


@pytest.mark.parametrize("said", [{"score": 0.76}, {"score": 1.0}, {"pass_rate": 0.5}])
def test_a_document_may_not_contradict_its_report(said):
    [(name, value)] = said.items()
    with pytest.raises(ValidationError, match=f"{name} is {value}, but the report's cells give 0.75"):
        document(**said)


def document(**said):
    return ScoreDocument(
        **{"candidate_id": "c", "score": 0.75, "pass_rate": 0.75, "simulated": False, "report": report(GOOD), **said}
    )
