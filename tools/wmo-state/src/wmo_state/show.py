"""What wmo-state prints of a run. Nothing here writes or takes the lock."""

from pathlib import Path

from wmo_contracts.base import dump_text
from wmo_contracts.run import RunCheckDocument, RunProblem
from wmo_harness.documents import to_document
from wmo_kit.documents import emit, print_text
from wmo_kit.errors import BadDocument, Negative, shown
from wmo_population.run_record import read_settings, recorded_dirs
from wmo_population.verify import PROBLEM_CHARS, verify_run
from wmo_population.view import best_of, next_of, scores_of, view_run
from wmo_suites.recorded import require_recordings


def run_next(run: Path) -> None:
    """Print the next step. Raises Missing, BadDocument, OSError."""
    print_text(dump_text(next_of(run).model_dump(mode="json")))


def run_status(run: Path) -> None:
    """Print wmo.run/1. Raises Missing, BadDocument, Conflict, OSError."""
    emit(view_run(run))


def run_verify(run: Path) -> None:
    """Print wmo.run-check/1. Raises Negative where something does not hold, Missing, OSError."""
    check = _with_recorded(run, verify_run(run))
    emit(check)
    if not check.ok:
        raise Negative(f"run '{run}' does not hold: " + "; ".join(problem.problem for problem in check.problems))


def _with_recorded(run: Path, check: RunCheckDocument) -> RunCheckDocument:
    """Add to a check whether the recorded episodes that the run uses are what they were."""
    try:
        settings = read_settings(run)
    except BadDocument:
        return check  # it is among the problems
    if settings is None:
        return check
    try:
        require_recordings(recorded_dirs(run, settings), settings.recorded_hash)
    except BadDocument as error:
        problems = (*check.problems, RunProblem(slot=None, problem=shown(error, PROBLEM_CHARS)))
        return check.model_copy(update={"ok": False, "problems": problems})
    return check


def run_best(run: Path) -> None:
    """Print the winner as wmo.harness/1. Raises Negative where nothing is scored, Missing, BadDocument, OSError."""
    best = best_of(run)
    emit(to_document(best.tree, best.candidate_id))


def run_scores(run: Path, slot: int | None) -> None:
    """Print a slot's scores as wmo.score/1. Raises Negative where it has none, Missing, BadDocument, OSError."""
    emit(scores_of(run, slot))
