"""Working on a run that has a run.json: what the tools open."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wmo_contracts.run import RunSettings
from wmo_harness.source_tree import tree_hash
from wmo_kit.errors import BadDocument, Missing

from wmo_population.durable import remove_directory
from wmo_population.evidence import REMEDY, read_source
from wmo_population.layout import RunLayout
from wmo_population.lock import RunLock
from wmo_population.run_record import read_settings
from wmo_population.steps import Plan, Run


class RecordedRun(Run):
    """A run and its recorded settings. The plan is what the record says; checks and errors are Run's."""

    def __init__(self, run_dir: Path, settings: RunSettings) -> None:
        super().__init__(run_dir, recorded_plan(RunLayout(run_dir), settings))
        self.settings = settings

    @property
    def work_dir(self) -> Path:
        """An empty folder for working files; it is gone when the run is closed."""
        return self.layout.work


def recorded_plan(layout: RunLayout, settings: RunSettings) -> Plan:
    """Give the plan that a record describes, with the seed from disk. Raises BadDocument where that is another one."""
    seed = read_source(layout, 0)
    if tree_hash(seed) != settings.seed_tree_hash:
        raise BadDocument(f"slot 0: '{layout.source_dir(0)}' is not the seed that '{layout.record}' records: {REMEDY}")
    return Plan(seed, settings.request, settings.iterations, settings.reward_mode)


@contextmanager
def open_run(run_dir: Path) -> Iterator[RecordedRun]:
    """Take the run's lock and give the run; on leaving, the working files go and the lock is free.

    Raises Missing (no run here, or one that was not made by `wmo-state init`), Locked, BadDocument, Conflict, OSError.
    """
    require_settings(run_dir)
    with RunLock(run_dir):
        run = RecordedRun(run_dir, require_settings(run_dir))  # only under the lock do they stay as they are
        remove_directory(run.work_dir)
        run.work_dir.mkdir()
        try:
            yield run
        finally:
            shutil.rmtree(run.work_dir, ignore_errors=True)  # whatever stays is swept at the next opening


def require_settings(run_dir: Path) -> RunSettings:
    """Give a run's settings. Raises Missing where there is no run, or one of the reference; BadDocument, OSError."""
    settings = read_settings(run_dir)
    if settings is None:
        raise Missing(f"run '{run_dir}' has no run.json: adopt it with 'wmo-state init {run_dir} ...'")
    return settings
