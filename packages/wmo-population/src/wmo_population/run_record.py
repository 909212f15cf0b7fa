"""run.json: the frozen settings of a run, and what may be asked of it later."""

import os
from pathlib import Path

from wmo_contracts.base import dump_text
from wmo_contracts.run import RunDocument, RunSettings
from wmo_kit.atomic import write_text_atomic
from wmo_kit.documents import read_document
from wmo_kit.errors import BadDocument, Missing

from wmo_population.evidence import reading
from wmo_population.layout import RunLayout


def read_settings(run_dir: Path) -> RunSettings | None:
    """Read a run's settings; None for a run of the reference, which has no run.json.

    Raises Missing where `run_dir` is no run at all, BadDocument, OSError.
    """
    layout = RunLayout(run_dir)
    if not os.path.lexists(layout.record):
        if os.path.lexists(layout.state) or layout.candidates.is_dir():
            return None  # the second: killed while its seed was scored
        raise Missing(f"no run in '{run_dir}': make one with 'wmo-state init {run_dir} ...'")
    with reading("run", layout.record):
        settings = read_document(layout.record, RunDocument).settings
    if settings is None:
        raise BadDocument(f"bad '{layout.record}': it holds no settings: restore it, or start a new run directory")
    return settings


def suite_dir(run_dir: Path, settings: RunSettings) -> Path:
    """Give the folder of a run's suite: the record has it relative to the run, so that both can move together."""
    return (run_dir / settings.suite).resolve()


def write_settings(run_dir: Path, settings: RunSettings) -> None:
    """Write run.json: the schema line and the settings, nothing else. Raises OSError."""
    document = {"schema": RunDocument.SCHEMA, "settings": settings.model_dump(mode="json")}
    write_text_atomic(RunLayout(run_dir).record, dump_text(document))
