"""Held-out tasks: which candidate is due on them, and what was measured, held against the run. Reading only.

RUN/holdout/candidate-<n>/{report.json, trials/} has the form of candidates/candidate-<n>/; no proposer is shown it. The
seed and the best are scored once each, after the last slot; where the run is extended, a new best follows.
"""

import os
import re
from collections.abc import Sequence

from wmo_contracts.run import RunSettings, StateEntry
from wmo_contracts.score import CellDocument, ScoreReport, ScoreRequest
from wmo_kit.errors import BadDocument, shown

from wmo_population.evidence import read_part, reading, refuse_link
from wmo_population.layout import RunLayout
from wmo_population.outcomes import EvaluatedCandidate
from wmo_population.slots import best_slot
from wmo_population.state import PopulationRunState
from wmo_population.trials import CELL, check_finished, check_trials

_FOLDER = re.compile(r"candidate-(\d{4,})")


def holdout_request(settings: RunSettings) -> ScoreRequest | None:
    """Give the matrix of the held-out tasks, with the run's attempts; None where nothing is held out."""
    if not settings.holdout:
        return None
    return ScoreRequest(task_ids=settings.holdout, attempts=settings.request.attempts)


def holdout_slots(entries: Sequence[StateEntry]) -> tuple[int, ...]:
    """Give the slots to be scored on the held-out tasks: the seed's and, where it is another, the best one's."""
    return tuple(sorted({0, best_slot(entries)}))


def holdout_due(layout: RunLayout, settings: RunSettings | None, entries: Sequence[StateEntry]) -> int | None:
    """Give the first slot whose report on the held-out tasks is missing; None where none is. No evidence is read."""
    if settings is None or not settings.holdout or not entries:
        return None
    reports = layout.held_out
    return next((slot for slot in holdout_slots(entries) if not os.path.lexists(reports.report(slot))), None)


def holdout_begun(layout: RunLayout, slot: int) -> bool:
    """Say whether a trial of a candidate at a held-out task is finished: the rest is then in hand."""
    return any(layout.held_out.candidate_dir(slot).glob(f"trials/*/attempt-*/{CELL}"))


def read_holdout(layout: RunLayout, settings: RunSettings, slot: int, candidate: EvaluatedCandidate) -> ScoreReport:
    """Read a candidate's report on the held-out tasks. Raises BadDocument where it is not of this candidate and run."""
    path = layout.held_out.report(slot)
    report = read_part(path, ScoreReport, slot)
    check_held_out(settings, slot, candidate, report, f"'{path}'")
    return report


def check_held_out(
    settings: RunSettings, slot: int, candidate: EvaluatedCandidate, report: ScoreReport, subject: str
) -> None:
    """Hold a report on the held-out tasks against its candidate and the run. Raises BadDocument; `subject` names it."""
    for name, said, wanted in (
        ("doc_hash", report.doc_hash, candidate.doc_hash),
        ("request", report.request, holdout_request(settings)),
        ("reward_mode", report.reward_mode, candidate.report.reward_mode),
        ("infra_failed", any(cell.infra_failed for cell in report.cells), False),
    ):
        if said != wanted:
            raise BadDocument(f"slot {slot}: {subject} has {name} '{shown(said)}', the run '{shown(wanted)}': "
                              "move it away to score the held-out tasks again")  # fmt: skip


def check_holdout(state: PopulationRunState, settings: RunSettings, slot: int) -> tuple[CellDocument, ...]:
    """Hash again what a candidate did on held-out tasks: its report and trials, or as far as it came.

    Gives the cells of a report. Raises BadDocument that names the slot and the file.
    """
    layout = state.layout.held_out
    with reading(f"slot {slot}", layout.candidate_dir(slot)):
        refuse_link(layout.candidates)
        refuse_link(layout.candidate_dir(slot))
    request = holdout_request(settings)
    candidate = state.load_slot(slot).candidate if slot < state.consumed else None
    if candidate is None or request is None:
        raise BadDocument(f"slot {slot}: '{layout.candidate_dir(slot)}' belongs to nothing that the run records: "
                          "move it away")  # fmt: skip
    if os.path.lexists(layout.report(slot)):
        report = read_holdout(state.layout, settings, slot, candidate)
        return check_trials(layout, slot, report, candidate.tree)
    check_finished(layout, slot, request, candidate.tree)
    return ()


def kept_slots(layout: RunLayout) -> tuple[int, ...]:
    """Give the slots, sorted, of which something is kept in holdout/."""
    folder = layout.held_out.candidates
    names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208  names are all that is wanted
    return tuple(sorted(int(match.group(1)) for match in map(_FOLDER.fullmatch, names) if match))
