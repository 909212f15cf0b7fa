"""A candidate's trials, trials/<task>/attempt-<n>/, held against its report and its source. Reading only."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from wmo_contracts.episode import EpisodeDocument, EpisodeResult
from wmo_contracts.exchanges import ExchangesDocument
from wmo_contracts.score import CellDocument, ScoreCell, ScoreReport, ScoreRequest, cell_hash
from wmo_contracts.verdict import VerdictDocument
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_kit.documents import read_json, read_json_part
from wmo_kit.errors import BadDocument, shown

from wmo_population.evidence import REMEDY, read_part, reading, refuse_link
from wmo_population.layout import RunLayout

EPISODE, RESULT, CELL, EXCHANGES = "episode.json", "wmo-run.json", "cell.json", "exchanges.json"
WORLD_EXCHANGES = "world-exchanges.json"
"""What a world model was asked and answered, beside what the agent's model was."""
JUDGE, VERDICT = "judge", "verdict.json"
"""The folder of what a judge said and was asked, in a trial's, and the file of its verdict there."""
Compared = tuple[str, object, object]


def check_trials(layout: RunLayout, slot: int, report: ScoreReport, tree: SourceTree) -> tuple[CellDocument, ...]:
    """Hold a report against the trials that it sums up; gives their cells, none where no trial kept one.

    A run of the reference has no cell.json. Raises BadDocument that names the slot and the file where one is malformed,
    missing among others, or says something else than the report, the source or its own episode.
    """
    folders = [layout.trial_dir(slot, cell.task_id, cell.attempt) for cell in report.cells]
    if not any(os.path.lexists(folder / CELL) for folder in folders):
        return ()
    return tuple(
        _check_trial(slot, folder, cell, report, tree) for folder, cell in zip(folders, report.cells, strict=True)
    )


def read_cell(path: Path) -> CellDocument:
    """Read a cell.json. Raises BadDocument for one that does not validate or was changed after it was written."""
    cell = read_json_part(path, CellDocument)
    found = cell_hash(read_json(path))  # as written: a later version may know more keys
    if cell.cell_hash not in (None, found):
        raise BadDocument(f"cannot read '{path}': it was changed: it hashes to '{found}' and not to "
                          f"'{shown(cell.cell_hash)}'")  # fmt: skip
    return cell


def check_finished(layout: RunLayout, slot: int, request: ScoreRequest, tree: SourceTree | None) -> None:
    """Read every finished cell of a candidate that is not scored yet, `tree` where it is accepted.

    Raises BadDocument as check_trials. (Of the seed, which may be exchanged until it is scored, cells may be outdated.)
    """
    for task_id, attempt in _present(layout, slot, request):
        path = layout.trial_dir(slot, task_id, attempt) / CELL
        try:
            cell = _read_cell(path, slot)
            told: list[Compared] = [("task_id", cell.cell.task_id, task_id), ("attempt", cell.cell.attempt, attempt)]
            if tree is not None:
                told.append(("tree_hash", cell.tree_hash, tree_hash(tree)))
            _agree(f"slot {slot}: '{path}'", "its place", told)
        except BadDocument:
            if os.path.lexists(path):  # else the process that holds the lock runs the trial again
                raise


def _read_cell(path: Path, slot: int) -> CellDocument:
    with reading(f"slot {slot}", path):
        refuse_link(path.parent)
        return read_cell(path)


def _present(layout: RunLayout, slot: int, request: ScoreRequest) -> Iterator[tuple[str, int]]:
    for task_id in request.task_ids:
        parent = layout.trial_dir(slot, task_id, 1).parent
        names = os.listdir(parent) if parent.is_dir() else []  # noqa: PTH208  the attempts may be many, the names few
        for attempt in range(1, min(request.attempts, len(names)) + 1):
            yield task_id, attempt


def _check_trial(slot: int, folder: Path, cell: ScoreCell, report: ScoreReport, tree: SourceTree) -> CellDocument:
    path = folder / CELL
    subject = f"slot {slot}: '{path}'"
    found = _read_cell(path, slot)
    _agree(subject, "the report", [(name, getattr(found.cell, name), value) for name, value in cell])
    hashes = [("tree_hash", found.tree_hash, tree_hash(tree)), ("doc_hash", found.doc_hash, report.doc_hash)]
    _agree(subject, "the source", hashes)
    if found.stop_reason is not None:
        _check_episode(slot, folder, found)
    if found.judge_usage is not None:
        _check_verdict(slot, folder / JUDGE, found)
    return found


def _check_episode(slot: int, folder: Path, cell: CellDocument) -> None:
    """Hold an agent's episode against its cell; a trial without an agent has none."""
    episode = read_part(folder / EPISODE, EpisodeDocument, slot)
    asked: list[Compared] = [
        ("task.id", episode.task.id, cell.cell.task_id),
        ("harness.tree_hash", episode.harness.tree_hash, cell.tree_hash),
        ("harness.doc_hash", episode.harness.doc_hash, cell.doc_hash),
    ]
    _agree(f"slot {slot}: '{folder / EPISODE}'", "its cell", asked)
    result = read_part(folder / RESULT, EpisodeResult, slot)
    ended: list[Compared] = [
        ("task_id", result.task_id, cell.cell.task_id),
        ("stop_reason", result.stop_reason, cell.stop_reason),
        ("turns", result.turns, len(result.steps)),
    ]
    _agree(f"slot {slot}: '{folder / RESULT}'", "its cell or steps", ended)
    for name in (EXCHANGES, WORLD_EXCHANGES):
        if os.path.lexists(folder / name):
            read_part(folder / name, ExchangesDocument, slot)


def _check_verdict(slot: int, folder: Path, cell: CellDocument) -> None:
    """Hold a judge's verdict against its cell."""
    verdict = read_part(folder / VERDICT, VerdictDocument, slot)
    told: list[Compared] = [("passed", verdict.passed, cell.cell.reward == 1.0)]
    _agree(f"slot {slot}: '{folder / VERDICT}'", "its cell", told)
    read_part(folder / EXCHANGES, ExchangesDocument, slot)


def _agree(subject: str, against: str, compared: Iterable[Compared]) -> None:
    """Raise BadDocument for the first (name, said, wanted) that differs."""
    for name, said, wanted in compared:
        if said != wanted:
            raise BadDocument(f"{subject} has {name} '{shown(said)}', {against} '{shown(wanted)}': {REMEDY}")
