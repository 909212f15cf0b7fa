"""A run that was copied or moved without what lies outside it: the new places of its suite and recorded episodes."""

import os
from collections.abc import Iterator
from pathlib import Path

from wmo_contracts.run import RunSettings
from wmo_kit.errors import Conflict
from wmo_population.layout import RunLayout
from wmo_population.run_record import recorded_dirs, suite_dir
from wmo_population.trials import CELL, read_cell
from wmo_suites.task import load_suite, task_digest

from wmo_state.asked import Asked

PLACES = {"suite": "--suite", "recorded": "--recorded"}
"""The settings that may change so, and their options."""


def relocated(run: Path, recorded: RunSettings, asked: Asked) -> RunSettings:
    """Give the record with the places that are asked for, where its own are not there and the new ones hold the same.

    The tasks must be those that the seed was scored on (where it has no cells, have their names), recorded episodes
    have the recorded hash: else the record stays. Raises Conflict for a suite that differs, BadDocument, OSError.
    """
    moved: dict[str, object] = {}
    if asked.suite is not None and asked.suite.is_dir() and not suite_dir(run, recorded).is_dir():
        _check_same_tasks(run, recorded, asked.suite)
        moved["suite"] = asked.suite_name
    away = any(not folder.is_dir() for folder in recorded_dirs(run, recorded))
    if away and asked.recorded and asked.recorded_hash == recorded.recorded_hash:
        moved["recorded"] = asked.recorded
    return recorded.model_copy(update=moved)


def _check_same_tasks(run: Path, recorded: RunSettings, suite: Path) -> None:
    found = {task.id: task for task in load_suite(suite)}
    measured = dict(_measured(run, recorded))
    for task_id in (*recorded.request.task_ids, *recorded.holdout):
        if task_id not in found:
            raise Conflict(f"--suite: '{suite}' has no task '{task_id}', which the run has: name a copy of its suite")
        now = task_digest(found[task_id], judged=recorded.judge is not None)
        if measured.get(task_id, now) != now:
            raise Conflict(
                f"--suite: task '{task_id}' in '{suite}' is not what the run's seed was scored on: name a copy of its "
                "suite"
            )


def _measured(run: Path, recorded: RunSettings) -> Iterator[tuple[str, str]]:
    """Give the tasks' digests in the seed's first trials, as far as there are some."""
    layout = RunLayout(run)
    for one, task_ids in ((layout, recorded.request.task_ids), (layout.held_out, recorded.holdout)):
        for task_id in task_ids:
            path = one.trial_dir(0, task_id, 1) / CELL
            if os.path.lexists(path):
                yield task_id, read_cell(path).task_hash
