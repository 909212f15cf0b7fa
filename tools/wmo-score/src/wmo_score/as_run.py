"""The terms that a run records, its models among them: for its own scorings, and with `--as RUN` for others."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wmo_contracts.run import RunSettings
from wmo_kit.config import Config, load_config
from wmo_kit.errors import Conflict
from wmo_population.layout import RunLayout
from wmo_population.recorded import require_settings
from wmo_population.run_record import require_suite
from wmo_suites.task import Task, task_digest

from wmo_score.cells import read_cells
from wmo_score.matrix import changed_tasks, trials
from wmo_score.options import Options, refuse_other_matrix, with_matrix


def recorded_config(config: Config, settings: RunSettings) -> Config:
    """Give the configuration with the models that the run records."""
    models = {"worker": config.roles.worker.as_recorded(settings.worker)}
    if settings.world is not None:
        models["world"] = config.roles.world.as_recorded(settings.world)
    if settings.judge is not None:
        models["judge"] = config.roles.judge.as_recorded(settings.judge)
    return config.model_copy(update={"roles": config.roles.model_copy(update=models)})


def terms_of(options: Options) -> tuple[Options, Config]:
    """Give the options and the configuration to score outside a run with: with `--as RUN`, that run's, as recorded.

    What acts and who judges stay as asked. Raises Missing (no such run), Conflict for an option that contradicts the
    record, BadDocument, OSError.
    """
    config = load_config(flags={"vendor": options.vendor})
    if options.as_run is None:
        return options, config
    settings = require_settings(options.as_run)
    refuse_other_matrix(options, options.as_run, settings)
    require_suite(options.as_run, settings)
    agreed = replace(with_matrix(options, options.as_run, settings), yes=options.yes or settings.consent)
    return agreed, recorded_config(config, settings)


def refuse_changed_tasks(run_dir: Path, tasks: Iterable[Task]) -> None:
    """Refuse tasks that are not what the run's seed was scored on: two scorings of them would not compare.

    Raises Conflict that names them, Missing, BadDocument, OSError.
    """
    settings = require_settings(run_dir)
    seed = read_cells(RunLayout(run_dir).candidate_dir(0), trials(settings.request))
    now = {task.id: task_digest(task, judged=settings.judge is not None) for task in tasks}
    if changed := changed_tasks(now, seed.values()):
        names = ", ".join(f"'{name}'" for name in changed)
        raise Conflict(
            f"tasks changed since run '{run_dir}' scored its seed on them: {names}; its scores and new ones do not "
            "compare: restore the tasks, or start a new run directory"
        )
