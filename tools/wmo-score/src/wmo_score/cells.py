"""Finished cells on disk: `<evidence>/trials/<task>/attempt-<n>/cell.json`, written last, read back on resume."""

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from wmo_contracts.episode import EpisodeResult
from wmo_contracts.episode import Usage as ModelUsage
from wmo_contracts.score import CellDocument
from wmo_kit.atomic import write_text_atomic
from wmo_kit.documents import read_document
from wmo_kit.errors import BadDocument
from wmo_population.durable import make_directory

from wmo_score.matrix import Trial

EPISODE, RESULT, CELL = "episode.json", "wmo-run.json", "cell.json"


def read_cells(evidence: Path, wanted: Iterable[Trial]) -> dict[Trial, CellDocument]:
    """Read the cells of the `wanted` trials that have one. A cell that does not validate is as good as none.

    Raises OSError.
    """
    found: dict[Trial, CellDocument] = {}
    for trial in wanted:
        path = evidence / trial.artifact_dir / CELL
        if path.is_file():
            try:
                found[trial] = read_document(path, CellDocument)
            except BadDocument:
                continue
    return found


def write_cell(evidence: Path, trial: Trial, cell: CellDocument) -> None:
    """Finish a trial's folder. Last: who finds this file takes the folder for complete. Raises OSError."""
    write_text_atomic(evidence / trial.artifact_dir / CELL, cell.to_text())


def start_folder(evidence: Path, trial: Trial) -> Path:
    """Give the trial's folder, empty: what an earlier try left, and its kept failure, are gone. Raises OSError."""
    folder = evidence / trial.artifact_dir
    for old in (folder, _partial(folder)):
        if old.exists():
            shutil.rmtree(old)
    make_directory(folder, inside=evidence.parent)
    return folder


def set_aside(folder: Path) -> None:
    """Keep the evidence of a trial without a verdict as `attempt-<n>.partial`, until it runs again. Raises OSError."""
    folder.replace(_partial(folder))


def total_usage(evidence: Path, wanted: Iterable[Trial]) -> ModelUsage:
    """Add up what the model used in the episodes of finished trials. Raises BadDocument, OSError."""
    total = Counter[str]()
    for trial in wanted:
        path = evidence / trial.artifact_dir / RESULT
        if path.is_file():
            total.update(read_document(path, EpisodeResult).usage.model_dump())
    return ModelUsage(**total)


def _partial(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.partial")
