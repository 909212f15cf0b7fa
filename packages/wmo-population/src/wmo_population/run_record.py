"""run.json: the frozen settings of a run, and what may be asked of it later."""

import os
from pathlib import Path
from typing import Any

from wmo_contracts.base import Part, dump_text
from wmo_contracts.run import RunDocument, RunSettings, settings_hash
from wmo_kit.atomic import write_text_atomic
from wmo_kit.documents import read_json_part
from wmo_kit.errors import BadDocument, Missing, shown

from wmo_population.evidence import REMEDY, reading
from wmo_population.layout import RunLayout


class _Hashed(Part):
    """run.json as it is written: a later version may know more settings, and they count."""

    settings: dict[str, Any]
    settings_hash: str | None = None


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
        settings = read_json_part(layout.record, RunDocument).settings
    if settings is None:
        raise BadDocument(f"bad '{layout.record}': it holds no settings: {REMEDY}")
    _check_unchanged(layout)
    return settings


def _check_unchanged(layout: RunLayout) -> None:
    with reading("run", layout.record):
        record = read_json_part(layout.record, _Hashed)
    found = settings_hash(record.settings)
    if record.settings_hash not in (None, found):
        raise BadDocument(f"bad '{layout.record}': its settings were changed, they hash to '{found}' and not to "
                          f"'{shown(record.settings_hash)}': {REMEDY}")  # fmt: skip


def suite_dir(run_dir: Path, settings: RunSettings) -> Path:
    """Give the folder of a run's suite: the record has it relative to the run, so that both can move together."""
    return (run_dir / settings.suite).resolve()


def require_suite(run_dir: Path, settings: RunSettings) -> Path:
    """Give the same folder. Raises BadDocument where it is not there: a run was copied or moved without it, say."""
    folder = suite_dir(run_dir, settings)
    if not folder.is_dir():
        raise BadDocument(
            f"no suite at '{folder}': the run names it relative to itself; name it again with 'wmo-state init "
            f"{run_dir} --suite DIR' (make: SUITE=DIR)"
        )
    return folder


def recorded_dirs(run_dir: Path, settings: RunSettings) -> tuple[Path, ...]:
    """Give the folders of the recorded episodes that a run's environment uses, which the record has likewise."""
    return tuple((run_dir / folder).resolve() for folder in settings.recorded)


def hidden_paths(run_dir: Path, settings: RunSettings) -> tuple[Path, ...]:
    """Give what no proposer may see but what its workspace shows: the run, the suite and its tasks, recorded episodes.

    A task, its tests and its solution may be links, so they are named one by one.
    """
    suite = suite_dir(run_dir, settings)
    tasks = [suite / task_id for task_id in (*settings.request.task_ids, *settings.holdout)]
    parts = [task / name for task in tasks for name in ("tests", "solution")]
    return (run_dir.resolve(), suite, *tasks, *parts, *recorded_dirs(run_dir, settings))


def write_settings(run_dir: Path, settings: RunSettings) -> None:
    """Write run.json: the schema line, the settings and their hash, nothing else. Raises OSError."""
    values = settings.model_dump(mode="json")
    document = {"schema": RunDocument.SCHEMA, "settings": values, "settings_hash": settings_hash(values)}
    write_text_atomic(RunLayout(run_dir).record, dump_text(document))
