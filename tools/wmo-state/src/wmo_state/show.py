"""What wmo-state prints of a run. Nothing here writes or takes the lock."""

from pathlib import Path

from wmo_contracts.base import dump_text
from wmo_harness.documents import to_document
from wmo_kit.documents import emit, print_text
from wmo_kit.errors import Negative
from wmo_population.verify import verify_run
from wmo_population.view import best_of, next_of, scores_of, view_run


def run_next(run: Path) -> None:
    """Print the next step. Raises Missing, BadDocument, OSError."""
    print_text(dump_text(next_of(run).model_dump(mode="json")))


def run_status(run: Path) -> None:
    """Print wmo.run/1. Raises Missing, BadDocument, Conflict, OSError."""
    emit(view_run(run))


def run_verify(run: Path) -> None:
    """Print wmo.run-check/1. Raises Negative where something does not hold, Missing, OSError."""
    check = verify_run(run)
    emit(check)
    if not check.ok:
        raise Negative(f"run '{run}' does not hold: " + "; ".join(problem.problem for problem in check.problems))


def run_best(run: Path) -> None:
    """Print the winner as wmo.harness/1. Raises Negative where nothing is scored, Missing, BadDocument, OSError."""
    best = best_of(run)
    emit(to_document(best.tree, best.candidate_id))


def run_scores(run: Path, slot: int | None) -> None:
    """Print a slot's scores as wmo.score/1. Raises Negative where it has none, Missing, BadDocument, OSError."""
    emit(scores_of(run, slot))
