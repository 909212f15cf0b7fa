"""Working on a run that has a run.json: what the tools open."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wmo_contracts.run import NextStep, RunSettings
from wmo_contracts.score import ScoreReport
from wmo_harness.source_tree import tree_hash
from wmo_kit.errors import BadDocument, BudgetReached, Conflict, Missing, Usage

from wmo_population.budget import raise_it, reached, unknown
from wmo_population.durable import make_directory, remove_directory, sweep, write_part
from wmo_population.events import check_events
from wmo_population.evidence import REMEDY, read_source, refuse_link
from wmo_population.holdout import check_held_out, holdout_due, kept_slots
from wmo_population.layout import RunLayout
from wmo_population.lock import RunLock
from wmo_population.outcomes import EvaluatedCandidate
from wmo_population.run_record import read_settings
from wmo_population.slots import next_step, rejections_in_a_row
from wmo_population.spending import run_spending
from wmo_population.state import PopulationRunState
from wmo_population.steps import OtherPlan, Plan, Run, check_plan
from wmo_population.turns import check_pending_turn


class RecordedRun(Run):
    """A run and its recorded settings. The plan is what the record says; checks and errors are Run's."""

    def __init__(self, run_dir: Path, settings: RunSettings) -> None:
        super().__init__(run_dir, recorded_plan(RunLayout(run_dir), settings))
        self.settings = settings
        for slot in kept_slots(self.layout):
            sweep(self.layout.held_out.candidate_dir(slot))

    @property
    def next(self) -> NextStep:
        """What the run does next; after the last slot the held-out tasks, where there are some."""
        held_out = holdout_due(self.layout, self.settings, self.state.entries)
        return next_step(
            self.state.consumed, self.plan.iterations, pending=self._pending is not None, held_out=held_out
        )

    @property
    def held_out_due(self) -> EvaluatedCandidate:
        """The candidate to be scored on the held-out tasks, re-hashed. Raises Conflict for none, BadDocument."""
        candidate = self.state.load_slot(self._expect("score-holdout").slot).candidate
        if candidate is None:
            raise AssertionError("step 'score-holdout' of a slot that is not scored")
        return candidate

    def start_held_out(self) -> Path:
        """Make the folder of that candidate's evidence on the held-out tasks. Raises Conflict, BadDocument, OSError."""
        folder = self.layout.held_out.candidate_dir(self._expect("score-holdout").slot)
        for one in (folder.parent, folder):
            refuse_link(one)
        make_directory(folder, inside=self.layout.run_dir)
        return folder

    def commit_held_out(self, report: ScoreReport) -> None:
        """Write that candidate's report, last of its evidence. Raises Conflict, OSError.

        Raises BadDocument, unwritten, for a report of another document or request.
        """
        slot, candidate = self.next.slot, self.held_out_due
        check_held_out(self.settings, slot, candidate, report, "the report")
        write_part(self.layout.held_out.report(slot), report)

    @property
    def work_dir(self) -> Path:
        """An empty folder for working files; it is gone when the run is closed."""
        return self.layout.work

    def refuse_without_consent(self) -> None:
        """Raise Usage where a real model's work would run with nothing around it, and the user did not agree to it."""
        if self.settings.trusts_models and not self.settings.consent:
            run_dir = self.layout.run_dir
            raise Usage(
                f"run '{run_dir}' has '--sandbox none' and a real model, and nobody agreed to that: "
                f"'wmo-state init {run_dir} --yes' does, and records it"
            )

    def refuse_after_rejections(self) -> None:
        """Raise Conflict where the record allows no other proposal after so many rejected ones in a row."""
        limit, in_a_row = self.settings.max_consecutive_rejections, rejections_in_a_row(self.state.entries)
        if limit is not None and in_a_row >= limit:
            run_dir, last = self.layout.run_dir, self.layout.error(self.next.slot - 1)
            raise Conflict(
                f"run '{run_dir}' has stopped: {in_a_row} proposals in a row were rejected, its limit is {limit}, and "
                f"another would be paid for, too: see why in '{last}'; to go on, raise the limit: "
                f"'wmo-state init {run_dir} --max-consecutive-rejections {in_a_row + limit}' (a number, or "
                "never; make: MAX_REJECTIONS=N)"
            )

    def refuse_over_budget(self) -> None:
        """Raise BudgetReached where the run's models have used what its record allows them, whatever is left to do.

        Raises Conflict where a budget cannot be kept, for an endpoint reports no tokens; BadDocument, OSError.
        """
        run_dir, settings = self.layout.run_dir, self.settings
        if settings.max_cost is None and settings.max_tokens is None:
            return
        spent = run_spending(self.layout, self.state.consumed)
        if found := reached(settings, spent):
            raise BudgetReached(
                f"run '{run_dir}' has reached its budget: {found}; what was in hand is finished and committed; to go "
                f"on, raise it: {raise_it(settings, run_dir)}"
            )
        if role := unknown(settings, spent):
            raise Conflict(
                f"run '{run_dir}' has a budget that cannot be kept: the {role}'s endpoint reports no tokens; to go on "
                f"without one: {raise_it(settings, run_dir)}"
            )


def check_record(state: PopulationRunState, settings: RunSettings) -> None:
    """Hold a run's record against its evidence. Raises as record_holds; Conflict as steps.check_slots."""
    with record_holds(state.layout):
        check_plan(state, recorded_plan(state.layout, settings))


@contextmanager
def record_holds(layout: RunLayout) -> Iterator[None]:
    """Turn a record that is not of this run into a BadDocument: nobody has asked for another plan, so it is damage."""
    try:
        yield
    except OtherPlan as error:
        raise BadDocument(f"'{layout.record}' is not of this run: {error}: {REMEDY}") from error


def recorded_plan(layout: RunLayout, settings: RunSettings) -> Plan:
    """Give the plan that a record describes, with the seed from disk. Raises BadDocument where that is another one."""
    seed = read_source(layout, 0)
    if tree_hash(seed) != settings.seed_tree_hash:
        raise BadDocument(f"slot 0: '{layout.source_dir(0)}' is not the seed that '{layout.record}' records: {REMEDY}")
    return Plan(seed, settings.request, settings.iterations, settings.reward_mode)


@contextmanager
def open_run(run_dir: Path) -> Iterator[RecordedRun]:
    """Take the run's lock and give the run; on leaving, the working files go and the lock is free.

    Raises Missing (no run here, or one that was not made by `wmo-state init`), Locked, BadDocument, Conflict, OSError.
    """
    require_settings(run_dir)
    with RunLock(run_dir):
        settings = require_settings(run_dir)  # only under the lock do they stay as they are
        check_events(run_dir)
        with record_holds(RunLayout(run_dir)):
            run = RecordedRun(run_dir, settings)
        check_pending_turn(run.layout, run.next.slot, run.due if run.next.step == "score" else None)
        remove_directory(run.work_dir)
        run.work_dir.mkdir()
        try:
            yield run
        finally:
            shutil.rmtree(run.work_dir, ignore_errors=True)  # whatever stays is swept at the next opening


def require_settings(run_dir: Path) -> RunSettings:
    """Give a run's settings. Raises Missing where there is no run, or one of the reference; BadDocument, OSError."""
    settings = read_settings(run_dir)
    if settings is None:
        raise Missing(f"run '{run_dir}' has no run.json: adopt it with 'wmo-state init {run_dir} ...'")
    return settings
