"""The full audit of a run: everything is read and hashed again, and every problem is listed."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from wmo_contracts.run import RunCheckDocument, RunProblem, RunSettings, StateEntry
from wmo_kit.errors import BadDocument, Conflict

from wmo_population.evidence import check_same_matrix, read_slot
from wmo_population.outcomes import SlotOutcome
from wmo_population.recorded import recorded_plan
from wmo_population.run_record import read_settings
from wmo_population.state import PopulationRunState
from wmo_population.steps import check_plan

ResultT = TypeVar("ResultT")


class _Audit:
    """Collects the problems of checks that raise."""

    def __init__(self) -> None:
        self.problems: list[RunProblem] = []

    def run(self, slot: int | None, check: Callable[[], ResultT]) -> ResultT | None:
        try:
            return check()
        except (BadDocument, Conflict) as error:
            self.problems.append(RunProblem(slot=slot, problem=str(error)))
            return None


def verify_run(run_dir: Path) -> RunCheckDocument:
    """Re-hash everything of a run and list what does not hold, at most one problem a slot. Changes nothing.

    Raises Missing where there is no run; OSError.
    """
    audit = _Audit()
    settings = audit.run(None, lambda: read_settings(run_dir))
    state = audit.run(None, lambda: PopulationRunState(run_dir))
    if state is not None:
        _check_slots(audit, state, settings)
    return RunCheckDocument(
        run_dir=str(run_dir),
        ok=not audit.problems,
        slots=0 if state is None else state.consumed,
        problems=tuple(audit.problems),
    )


def _check_slots(audit: _Audit, state: PopulationRunState, settings: RunSettings | None) -> None:
    seed: SlotOutcome | None = None
    for entry in state.entries:
        outcome = _check_slot(audit, state, entry, seed)
        seed = outcome if entry.slot == 0 else seed
    audit.run(state.consumed, lambda: state.load_pending(state.consumed))
    if settings is not None and (seed is not None or state.consumed == 0):
        audit.run(None, lambda: check_plan(state, recorded_plan(state.layout, settings)))


def _check_slot(
    audit: _Audit, state: PopulationRunState, entry: StateEntry, seed: SlotOutcome | None
) -> SlotOutcome | None:
    outcome = audit.run(entry.slot, lambda: read_slot(state.layout, entry))
    if outcome is not None and seed is not None:
        audit.run(entry.slot, lambda: check_same_matrix(state.layout, seed, outcome))
    return outcome
