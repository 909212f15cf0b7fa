"""A run as people and reports see it: wmo.run/1, the next step, the winner. Reading only, without the lock."""

import os
from pathlib import Path

from wmo_contracts.gain import HoldoutView
from wmo_contracts.run import BestView, NextStep, OutcomeView, RunDocument, RunSettings, Spending
from wmo_contracts.score import ScoreDocument
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import Negative

from wmo_population.holdout import holdout_due
from wmo_population.layout import RunLayout
from wmo_population.outcomes import EvaluatedCandidate, SlotOutcome
from wmo_population.recorded import check_record, require_settings
from wmo_population.run_record import read_settings
from wmo_population.slots import next_step, select_best
from wmo_population.spending import add_up, slot_spending
from wmo_population.state import PopulationRunState
from wmo_population.steps import check_slots
from wmo_population.turns import check_pending_turn
from wmo_population.verdict import read_verdict

SUMMARY_KEY = "summary"
"""Where a proposer's status.json says in one line what it changed."""


def view_run(run_dir: Path) -> RunDocument:
    """Give the whole view of a run, all evidence re-hashed. Raises Missing, BadDocument, Conflict, OSError.

    For a run of the reference, `settings` is None, and `next` is too unless a candidate waits for its scores: how many
    slots it was started for is written nowhere.
    """
    settings = read_settings(run_dir)
    state = PopulationRunState(run_dir)
    if settings is not None:
        check_record(state, settings)
    outcomes = state.load()
    check_pending_turn(state.layout, state.consumed, state.load_pending(state.consumed))
    best = select_best(outcome.candidate for outcome in outcomes if outcome.candidate is not None)
    step = _next(state, settings)
    spent = tuple(slot_spending(state.layout, slot) for slot in range(state.consumed + 1))  # with the slot in hand
    return RunDocument(
        settings=settings,
        run_dir=str(run_dir),
        next=step,
        outcomes=tuple(_view(state.layout, outcome, outcomes[0], spent[outcome.slot]) for outcome in outcomes),
        best=None if best is None else _best(best, outcomes),
        completed=step is not None and step.step == "done",
        simulated=settings is not None and settings.simulated,
        spent=add_up(spent),
        holdout=_holdout(state, settings),
    )


def next_of(run_dir: Path) -> NextStep:
    """Give a run's next step from its index and record alone; no evidence is read, so it costs the same at any size.

    Raises Missing, BadDocument, Conflict (more slots than the record has), OSError.
    """
    settings = read_settings(run_dir)
    state = PopulationRunState(run_dir)
    if settings is not None:
        check_slots(state, settings.iterations)
    step = _next(state, settings)
    return step or next_step(state.consumed, require_settings(run_dir).iterations, pending=False)


def best_of(run_dir: Path) -> EvaluatedCandidate:
    """Give the best candidate so far, all evidence re-hashed.

    Raises Negative where there is none yet, Missing, BadDocument, Conflict, OSError.
    """
    settings = read_settings(run_dir)
    state = PopulationRunState(run_dir)
    if settings is not None:
        check_record(state, settings)
    outcomes = state.load()
    best = select_best(outcome.candidate for outcome in outcomes if outcome.candidate is not None)
    if best is None:
        raise Negative(f"no best candidate in '{run_dir}': nothing is scored yet; 'wmo-score --run' scores the seed")
    return best


def scores_of(run_dir: Path, slot: int | None) -> ScoreDocument:
    """Give the scores of a slot, of the best one for None, its evidence re-hashed.

    Raises Negative where it has none, Missing, BadDocument, Conflict, OSError.
    """
    settings = read_settings(run_dir)
    if slot is None:
        candidate = best_of(run_dir)
    else:
        state = PopulationRunState(run_dir)
        found = state.load_slot(slot).candidate if slot < state.consumed else None
        if found is None:
            raise Negative(f"slot {slot} of '{run_dir}' has no scores: 'wmo-state status {run_dir}' says what there is")
        candidate = found
    return ScoreDocument(
        candidate_id=candidate.candidate_id,
        score=candidate.score,
        pass_rate=candidate.report.pass_rate,
        simulated=settings is not None and settings.simulated,
        environment="sandbox" if settings is None else settings.environment,
        sandbox="bwrap" if settings is None else settings.sandbox,
        report=candidate.report,
    )


def _next(state: PopulationRunState, settings: RunSettings | None) -> NextStep | None:
    pending = os.path.lexists(state.layout.pending(state.consumed))
    if settings is None:
        return NextStep(step="score", slot=state.consumed) if pending else None
    held_out = holdout_due(state.layout, settings, state.entries)
    return next_step(state.consumed, settings.iterations, pending=pending, held_out=held_out)


def _holdout(state: PopulationRunState, settings: RunSettings | None) -> HoldoutView | None:
    if settings is None or not settings.holdout:
        return None
    from wmo_population.holdout_view import view_holdout  # numpy: only for a run that needs it

    return view_holdout(state, settings)


def _best(best: EvaluatedCandidate, outcomes: tuple[SlotOutcome, ...]) -> BestView:
    slot = next(outcome.slot for outcome in outcomes if outcome.candidate is best)
    return BestView(candidate_id=best.candidate_id, slot=slot, score=best.score)


def _view(layout: RunLayout, outcome: SlotOutcome, seed: SlotOutcome, spent: Spending) -> OutcomeView:
    candidate = outcome.candidate
    change: float | None = None
    changed: tuple[str, ...] = ()
    if candidate is not None and seed.candidate is not None:
        change = candidate.score - seed.candidate.score
        changed = changed_files(seed.candidate.tree, candidate.tree)
    return OutcomeView(
        slot=outcome.slot,
        candidate_id=outcome.candidate_id,
        kind=outcome.kind,
        score=outcome.score,
        change=change,
        changed_files=changed,
        summary=_summary(layout, outcome.slot),
        note=outcome.reason,
        spent=spent,
    )


def changed_files(before: SourceTree, after: SourceTree) -> tuple[str, ...]:
    """Give the paths, sorted, that were added, removed or changed between two trees."""
    old, new = before.as_mapping(), after.as_mapping()
    return tuple(sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)))


def _summary(layout: RunLayout, slot: int) -> str:
    """Give the proposer's own line on what it changed, "" where it wrote none. Raises BadDocument."""
    status = read_verdict(layout, slot)
    line = None if status is None else status.get(SUMMARY_KEY)
    return line if isinstance(line, str) else ""
