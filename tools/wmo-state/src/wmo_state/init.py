"""Making a run, adopting one of the reference, or going on with one; in every case run.json is written last."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wmo_contracts.run import ProposerSettings, RunSettings
from wmo_kit.consent import NO_SANDBOX, require_consent
from wmo_kit.documents import emit
from wmo_kit.errors import Conflict, Usage
from wmo_kit.log import Log
from wmo_population.durable import make_directory
from wmo_population.layout import CANDIDATES, PROPOSALS, RunLayout
from wmo_population.lock import RunLock
from wmo_population.recorded import RecordedRun, record_holds
from wmo_population.run_record import (
    hidden_paths,
    read_settings,
    recorded_dirs,
    require_suite,
    suite_dir,
    write_settings,
)
from wmo_population.state import PopulationRunState
from wmo_population.view import view_run
from wmo_suites.allowed import read_words
from wmo_suites.recorded import require_recordings
from wmo_suites.task import load_suite, require_gold, select

from wmo_state.asked import Asked
from wmo_state.moved import PLACES, relocated
from wmo_state.new_run import check_new
from wmo_state.settings import adopted_settings, fresh_settings, reconcile

LIMITS = ("max_consecutive_rejections", "max_cost", "max_tokens")
ROLES = {"worker": "worker", "proposer_model": "proposer", "world": "world", "judge": "judge"}
"""The settings that may change besides the number of slots: limits, and models by their prices."""


def run_init(run: Path, asked: Asked, log: Log) -> None:
    """Make or check the run and print wmo.run/1. The same call again changes nothing.

    Raises Usage, Negative (no consent), Conflict, Locked, BadDocument, Missing, OSError.
    """
    _check_place(run)
    layout = RunLayout(run)
    if not os.path.lexists(layout.record) and not os.path.lexists(layout.state):
        settings = fresh_settings(asked, _chosen_tasks(asked))
        check_new(run, settings, asked, log)  # before anything is made
        asked = replace(asked, yes=asked.yes or _agreed(settings, asked).consent)
    make_directory(run)
    with RunLock(run):
        log.say("init", f"run '{run}': {_settle(run, asked)}")
    emit(view_run(run))


def _check_place(run: Path) -> None:
    """Refuse to make a run among files that are none of its own."""
    layout = RunLayout(run)
    if not run.is_dir() or os.path.lexists(layout.record) or os.path.lexists(layout.state):
        return
    ours = {CANDIDATES, PROPOSALS, layout.events.name}
    strangers = sorted(path.name for path in run.iterdir() if path.name not in ours and not path.name.startswith("."))
    if strangers:
        raise Conflict(f"'{run}' is no run and holds '{strangers[0]}': name a directory that is new or empty")


def _settle(run: Path, asked: Asked) -> str:
    """Bring the run to what is asked, under its lock. Gives what was done, for people."""
    layout = RunLayout(run)
    if os.path.lexists(layout.record):
        return _go_on(run, asked)
    state = PopulationRunState(run)
    if state.consumed == 0:
        settings = fresh_settings(asked, _chosen_tasks(asked))
        if asked.seed is not None:
            state.stage_seed(asked.seed.tree)
        done = "made"
    else:
        settings = _adopt(run, state, asked)
        done = "adopted, it had no run.json"
    settings = _agreed(settings, asked)
    read_words(settings.proposer.allow, hidden_paths(run, settings))
    RecordedRun(run, settings)  # checks the evidence against the settings before they are recorded
    write_settings(run, settings)
    return done


def _go_on(run: Path, asked: Asked) -> str:
    recorded = read_settings(run)
    if recorded is None:
        raise AssertionError("a run.json without settings is a BadDocument")
    settings = _agreed(reconcile(relocated(run, recorded, asked), asked), asked)
    require_suite(run, settings)
    require_recordings(recorded_dirs(run, settings), settings.recorded_hash)
    if settings.proposer != recorded.proposer:
        read_words(settings.proposer.allow, hidden_paths(run, settings))
    with record_holds(RunLayout(run)):
        RecordedRun(run, settings)
    if settings == recorded:
        return "as recorded"
    write_settings(run, settings)
    if settings.iterations != recorded.iterations:
        return f"extended from {recorded.iterations} to {settings.iterations} slots"
    changed = [(name, value) for name, value in settings if value != getattr(recorded, name)]
    return "as recorded, but for " + ", ".join(_told(name, value) for name, value in changed)


def _told(name: str, value: object) -> str:
    """Say what changed in a record, for people."""
    if name in PLACES:
        return f"the place of {PLACES[name]}"
    if name in LIMITS:
        return f"{name.replace('_', ' ')}, now {value or 'never'}"
    if isinstance(value, ProposerSettings):
        return f"what the proposer's box opens, now {', '.join(value.allow)}"
    return "your consent" if name == "consent" else f"the prices of the {ROLES[name]}"


def _agreed(settings: RunSettings, asked: Asked) -> RunSettings:
    """Give the settings with the user's consent where they need one, asked for where it is not recorded.

    Raises Usage where nobody can be asked, Negative for a no.
    """
    if settings.consent or not settings.trusts_models:
        return settings
    require_consent(NO_SANDBOX, yes=asked.yes)
    return settings.model_copy(update={"consent": True})


def _adopt(run: Path, state: PopulationRunState, asked: Asked) -> RunSettings:
    seed = state.load_slot(0).candidate
    if seed is None:
        raise AssertionError("the index refuses a seed that is not scored")
    settings = adopted_settings(asked, seed.tree, seed.report)
    known = {task.id for task in load_suite(suite_dir(run, settings))}
    for task_id in settings.request.task_ids:
        if task_id not in known:
            raise Conflict(f"the run was scored on task '{task_id}', which suite '{settings.suite}' has not: "
                           "name the suite that it was started with")  # fmt: skip
    _check_held_out(settings, known)
    return settings


def _check_held_out(settings: RunSettings, known: set[str]) -> None:
    """Refuse to hold out of an adopted run what it has not, or was scored on already. Raises Usage."""
    for task_id in settings.holdout:
        if task_id not in known:
            raise Usage(f"--holdout: suite '{settings.suite}' has no task '{task_id}'")
        if task_id in settings.request.task_ids:
            raise Usage(f"--holdout: the run was scored on '{task_id}' already, so its proposers have seen it")


def _chosen_tasks(asked: Asked) -> tuple[str, ...]:
    if asked.suite is None:
        raise Usage("a new run needs --seed, --suite and --slots")
    tasks = load_suite(asked.suite)
    held_out = select(tasks, asked.holdout or ())  # raises for a name that is unknown
    if asked.task_ids is not None:
        tasks = select(tasks, asked.task_ids)
    if asked.judge:
        require_gold([*tasks, *held_out])
    return _without(asked.holdout or (), [task.id for task in tasks], chosen=asked.task_ids is not None)


def _without(held_out: Sequence[str], task_ids: Sequence[str], *, chosen: bool) -> tuple[str, ...]:
    """Take the held-out tasks out of the run's own, which the user may have `chosen`. Raises Usage."""
    if chosen and (both := sorted(set(held_out) & set(task_ids))):
        raise Usage(f"'{both[0]}' is in --tasks and in --holdout: a task is either proposed for or held out")
    left = tuple(task_id for task_id in task_ids if task_id not in held_out)
    if not left:
        raise Usage("--holdout names every task: leave some for the run itself")
    return left
