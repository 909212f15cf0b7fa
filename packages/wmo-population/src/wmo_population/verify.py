"""The full audit of a run: everything is read and hashed again, and every problem is listed."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from wmo_contracts.run import RunCheckDocument, RunProblem, RunSettings, StateEntry
from wmo_contracts.score import CellDocument
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import BadDocument, Conflict, shown

from wmo_population.events import check_events
from wmo_population.evidence import REMEDY, check_same_matrix, read_slot
from wmo_population.holdout import check_holdout, kept_slots
from wmo_population.layout import RunLayout
from wmo_population.outcomes import SlotOutcome
from wmo_population.recorded import check_record
from wmo_population.run_record import read_settings
from wmo_population.state import PopulationRunState
from wmo_population.trials import check_finished, check_trials
from wmo_population.turns import check_pending_turn, check_turn

ResultT = TypeVar("ResultT")
PROBLEM_CHARS = 2000

NO_RECORD = (
    "no run.json: nothing says what the run was started with, and of its seed only the document is hashed, no byte"
)
NO_CELLS = "no cell.json is kept: notes, test counts and rewards that pass alike stand in report.json alone"
NO_TURN = "no proposer's turn is kept that wmo-propose wrote"
OTHER_TASKS = "tasks are not what the seed was scored on: the scores do not compare"
OTHER_HELD_OUT = "held-out tasks changed since they were first scored: those scores do not compare"
ONLY_READ = (
    "no hash covers transcripts, verifiers' output and proposers' words: whether they are whole is all that was read"
)


@dataclass(frozen=True)
class _Seen:
    """A slot that holds, with the cells of its trials; `has_turn` as check_turn says."""

    outcome: SlotOutcome
    cells: tuple[CellDocument, ...]
    has_turn: bool

    @property
    def tree(self) -> SourceTree | None:
        return None if self.outcome.candidate is None else self.outcome.candidate.tree

    @property
    def task_hashes(self) -> set[tuple[str, str]]:
        return {(cell.cell.task_id, cell.task_hash) for cell in self.cells}


class _Audit:
    """Collects the problems of checks that raise, and by slot what could not be checked."""

    def __init__(self) -> None:
        self.problems: list[RunProblem] = []
        self._unchecked: dict[str, list[int]] = defaultdict(list)

    def run(self, slot: int | None, check: Callable[[], ResultT]) -> ResultT | None:
        try:
            return check()
        except (BadDocument, Conflict) as error:
            self.problems.append(RunProblem(slot=slot, problem=shown(error, PROBLEM_CHARS)))
            return None

    def cannot(self, what: str, *slots: int) -> None:
        """Note what could not be checked, of a slot or of the run."""
        self._unchecked[what] += slots

    @property
    def unchecked(self) -> tuple[str, ...]:
        return tuple(_of_slots(what, slots) for what, slots in self._unchecked.items())


def _of_slots(what: str, slots: list[int]) -> str:
    if not slots:
        return what
    return f"slot{'s' if len(slots) > 1 else ''} {', '.join(str(slot) for slot in slots)}: {what}"


def verify_run(run_dir: Path) -> RunCheckDocument:
    """Re-hash everything of a run and list what does not hold, at most one problem a slot. Changes nothing.

    Raises Missing where there is no run; OSError.
    """
    audit = _Audit()
    settings = audit.run(None, lambda: read_settings(run_dir))
    state = audit.run(None, lambda: PopulationRunState(run_dir))
    audit.run(None, lambda: check_events(run_dir))
    if state is not None:
        _check_slots(audit, state)
        _check_due(audit, state, settings)
        if settings is not None:
            _check_held_out(audit, state, settings)
    return RunCheckDocument(
        run_dir=str(run_dir),
        ok=not audit.problems,
        slots=0 if state is None else state.consumed,
        problems=tuple(audit.problems),
        unchecked=audit.unchecked,
    )


def _check_slots(audit: _Audit, state: PopulationRunState) -> None:
    seed: _Seen | None = None
    for entry in state.entries:
        seen = audit.run(entry.slot, partial(_see, state.layout, entry, seed))
        if seen is None:
            continue
        seed = seen if entry.slot == 0 else seed
        _note(audit, seen, seed)
    if state.entries:
        audit.cannot(ONLY_READ)


def _see(layout: RunLayout, entry: StateEntry, seed: _Seen | None) -> _Seen:
    """Check everything of a consumed slot against itself and the seed. Raises BadDocument."""
    outcome = read_slot(layout, entry, seed.tree if seed else None)
    cells: tuple[CellDocument, ...] = ()
    if outcome.candidate is not None:
        cells = check_trials(layout, entry.slot, outcome.candidate.report, outcome.candidate.tree)
    if seed is not None:
        check_same_matrix(layout, seed.outcome, outcome)
    for cell in cells:
        wanted = (seed.cells if seed and seed.cells else cells)[0].request_hash
        if cell.request_hash != wanted:
            path = layout.trial_dir(entry.slot, cell.cell.task_id, cell.cell.attempt)
            raise BadDocument(f"slot {entry.slot}: '{path}' was measured under another request, agent or model "
                              f"than '{layout.candidate_dir(0 if seed else entry.slot)}': {REMEDY}")  # fmt: skip
    return _Seen(outcome, cells, check_turn(layout, outcome))


def _note(audit: _Audit, seen: _Seen, seed: _Seen | None) -> None:
    slot = seen.outcome.slot
    if seen.outcome.candidate is not None and not seen.cells:
        audit.cannot(NO_CELLS, slot)
    if slot > 0 and not seen.has_turn:
        audit.cannot(NO_TURN, slot)
    if seed is not None and not seen.task_hashes <= seed.task_hashes:
        audit.cannot(OTHER_TASKS, slot)


def _check_due(audit: _Audit, state: PopulationRunState, settings: RunSettings | None) -> None:
    """Check what waits for its scores, and the record against all of it."""
    slot = state.consumed
    pending = audit.run(slot, lambda: state.load_pending(slot))
    audit.run(slot, lambda: check_pending_turn(state.layout, slot, pending))
    if settings is None:
        audit.cannot(NO_RECORD)
        return
    audit.run(
        slot, lambda: check_finished(state.layout, slot, settings.request, None if pending is None else pending.tree)
    )
    if not any(problem.slot == 0 for problem in audit.problems):
        audit.run(None, lambda: check_record(state, settings))


def _check_held_out(audit: _Audit, state: PopulationRunState, settings: RunSettings) -> None:
    """Check what candidates did on held-out tasks, of slots that hold themselves; the first measures the others."""
    broken = {problem.slot for problem in audit.problems}
    first: tuple[CellDocument, ...] = ()
    for slot in kept_slots(state.layout):
        if broken & {slot, 0}:
            continue
        cells = audit.run(slot, partial(check_holdout, state, settings, slot)) or ()
        first = first or cells
        if any(cell.request_hash != first[0].request_hash for cell in cells):
            path = state.layout.held_out.candidate_dir(slot)
            problem = f"slot {slot}: '{path}' was measured under another request, agent or model than the first"
            audit.problems.append(RunProblem(slot=slot, problem=problem))
        if not {(c.cell.task_id, c.task_hash) for c in cells} <= {(c.cell.task_id, c.task_hash) for c in first}:
            audit.cannot(OTHER_HELD_OUT, slot)
