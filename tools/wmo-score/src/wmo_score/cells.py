"""Finished cells on disk: `<evidence>/trials/<task>/attempt-<n>/cell.json`, written last, read back on resume."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from wmo_contracts.episode import EpisodeResult
from wmo_contracts.episode import Usage as ModelUsage
from wmo_contracts.score import CellDocument
from wmo_kit.atomic import write_text_atomic
from wmo_kit.documents import DocumentT, read_json_part
from wmo_kit.errors import BadDocument
from wmo_population.durable import make_directory, remove_directory
from wmo_population.evidence import refuse_link
from wmo_population.trials import CELL, RESULT, read_cell

from wmo_score.matrix import Trial


def read_cells(evidence: Path, wanted: Iterable[Trial]) -> dict[Trial, CellDocument]:
    """Read the cells of the `wanted` trials that have one; a trial without one was not finished.

    Raises BadDocument for one that does not validate: it was written whole, so something has happened to it. OSError.
    """
    paths = {trial: evidence / trial.artifact_dir / CELL for trial in wanted}
    return {trial: _read(path, read_cell) for trial, path in paths.items() if os.path.lexists(path)}


def _read(path: Path, read: Callable[[Path], DocumentT]) -> DocumentT:
    try:
        refuse_link(path.parent)
        return read(path)
    except BadDocument as error:
        raise BadDocument(f"{error}: move '{path.parent}' away to run that trial again") from error


def write_cell(evidence: Path, trial: Trial, cell: CellDocument) -> None:
    """Finish a trial's folder. Last: who finds this file takes the folder for complete. Raises OSError."""
    write_text_atomic(evidence / trial.artifact_dir / CELL, cell.sealed().to_text())


def start_folder(evidence: Path, trial: Trial) -> Path:
    """Give the trial's folder, empty: what an earlier try left, and its kept failure, are gone.

    Raises BadDocument where a folder on the way is a link, so that nothing outside is removed; OSError.
    """
    folder = evidence / trial.artifact_dir
    for above in (folder.parent, folder.parent.parent):
        refuse_link(above)
    for old in (folder, _partial(folder)):
        remove_directory(old)
    make_directory(folder, inside=evidence.parent)
    return folder


def set_aside(folder: Path) -> None:
    """Keep the evidence of a trial without a verdict as `attempt-<n>.partial`, until it runs again. Raises OSError."""
    folder.replace(_partial(folder))


def total_usage(evidence: Path, wanted: Iterable[Trial]) -> ModelUsage:
    """Add up what the model used in the episodes of finished trials. Raises BadDocument, OSError."""
    total = ModelUsage()
    for trial in wanted:
        path = evidence / trial.artifact_dir / RESULT
        if os.path.lexists(path):
            total = total.plus(_read(path, _read_result).usage)
    return total


def usage_by_role(evidence: Path, wanted: Iterable[Trial]) -> dict[str, dict[str, Any]]:
    """Give what finished trials used, by its name in the timeline: `usage` is the agents' own.

    `world_usage` and `judge_usage` are there where a model played the world or judged. Raises BadDocument, OSError.
    """
    asked = tuple(wanted)
    told = {"usage": total_usage(evidence, asked)}
    for cell in read_cells(evidence, asked).values():
        for name, used in (("world_usage", cell.world_usage), ("judge_usage", cell.judge_usage)):
            if used is not None:
                told[name] = told.get(name, ModelUsage()).plus(used)
    return {name: used.model_dump() for name, used in told.items()}


def _read_result(path: Path) -> EpisodeResult:
    return read_json_part(path, EpisodeResult)


def _partial(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.partial")
