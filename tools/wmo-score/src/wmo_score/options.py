"""What the command line asks for, and where it contradicts a run's record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wmo_contracts.episode import EnvironmentKind, SandboxMode
from wmo_contracts.run import RunSettings
from wmo_contracts.score import RewardMode
from wmo_kit.errors import Conflict, Usage
from wmo_population.layout import CANDIDATES, HOLDOUT, RunLayout
from wmo_population.run_record import recorded_dirs, suite_dir
from wmo_suites.choice import check_choice

TRANSFER = "transfer"
"""The folder in a run where `make transfer` keeps its scorings."""
AgentName = Literal["harness", "oracle", "nop"]


@dataclass(frozen=True)
class Options:
    """The options as given; None (and no `tasks`, no `recorded`, no `judge`, no `yes`) is what was not said."""

    suite: Path | None = None
    tasks: tuple[str, ...] = ()
    attempts: int | None = None
    jobs: int | None = None
    agent: AgentName | None = None
    keep: Path | None = None
    sandbox: SandboxMode | None = None
    reward_mode: RewardMode | None = None
    env: EnvironmentKind | None = None
    recorded: tuple[Path, ...] = ()
    judge: bool = False
    yes: bool = False
    leave_own_out: bool = False
    vendor: Path | None = None
    as_run: Path | None = None


def from_flags(flags: Mapping[str, Any]) -> Options:
    """Take the command line's flags by name; click has checked the choices."""
    return Options(**flags)


def environment_of(options: Options) -> EnvironmentKind:
    """Give the environment that is asked for. Raises Usage for what does not go with it."""
    kind = options.env or "sandbox"
    if kind != "sandbox" and options.agent not in (None, "harness"):
        raise Usage(f"'--agent {options.agent}' works in a real workspace: leave out '--env {kind}'")
    if options.keep is not None:
        _refuse_place(options.keep, options.recorded)
    if options.leave_own_out and kind != "world-model":
        raise Usage("'--leave-own-out' is for the examples of '--env world-model': leave it out")
    check_choice(kind, recorded=bool(options.recorded), judged=options.judge)
    return kind


def _refuse_place(keep: Path, recorded: Sequence[Path]) -> None:
    """Raise Usage for a folder to keep where it would replace a run's evidence, or recorded trials.

    In a run that is recorded, its folder for `make transfer` is free: no recorded trial is read there.
    """
    place = keep.resolve()
    for folder in (place, *place.parents):
        if folder.name in (CANDIDATES, HOLDOUT) and RunLayout(folder.parent).record.exists():
            raise Usage(f"'--keep {keep}' would replace evidence of run '{folder.parent}': keep the trials elsewhere")
    for folder in (one.resolve() for one in recorded):
        free = RunLayout(folder).record.exists() and place.is_relative_to(folder / TRANSFER)
        if (place.is_relative_to(folder) or folder.is_relative_to(place)) and not free:
            raise Usage(f"'--keep {keep}' would replace the recorded trials there: keep the predicted ones elsewhere")


def refuse_conflicts(options: Options, run_dir: Path, settings: RunSettings) -> None:
    """Hold the options against a run's record, which wins: raise Conflict (78) that names both values of the first.

    Raises Usage for what a run cannot be asked at all.
    """
    if options.as_run is not None:
        raise Usage(f"'--run' scores under the run's own record: leave out '--as {options.as_run}'")
    if options.leave_own_out:
        raise Usage("'--run' scores with all that the run recorded as examples: leave out '--leave-own-out'")
    if options.keep is not None or options.agent not in (None, "harness"):
        raise Usage("'--run' scores the run's own candidate and keeps it there: leave out '--keep' and '--agent'")
    refuse_other_matrix(options, run_dir, settings)
    _refuse(
        {
            "--env": (options.env, settings.environment),
            "--recorded": (
                [str(path.resolve()) for path in options.recorded],
                [str(path) for path in recorded_dirs(run_dir, settings)],
            ),
            "--judge": (
                "a judge" if options.judge else None,
                "the tasks' verifiers" if settings.judge is None else "a judge",
            ),
        }
    )


def refuse_other_matrix(options: Options, run_dir: Path, settings: RunSettings) -> None:
    """Hold what the options say of tasks, attempts and passing against a run's record. Raises Conflict likewise."""
    _refuse(
        {
            "--suite": (options.suite and options.suite.resolve(), suite_dir(run_dir, settings)),
            "--task": (sorted(options.tasks), sorted(settings.request.task_ids)),
            "--attempts": (options.attempts, settings.request.attempts),
            "--sandbox": (options.sandbox, settings.sandbox),
            "--reward-mode": (options.reward_mode, settings.reward_mode),
        }
    )


def with_matrix(options: Options, run_dir: Path, settings: RunSettings) -> Options:
    """Give the options with those of `refuse_other_matrix` as a run records them."""
    return replace(
        options,
        suite=suite_dir(run_dir, settings),
        tasks=settings.request.task_ids,
        attempts=settings.request.attempts,
        sandbox=settings.sandbox,
        reward_mode=settings.reward_mode,
    )


def _refuse(asked: Mapping[str, tuple[Any, Any]]) -> None:
    """Raise Conflict for the first option whose said value is not the recorded one."""
    for flag, (said, recorded) in asked.items():
        if said and said != recorded:
            raise Conflict(
                f"'{flag}' says '{_show(said)}', but the run's record '{_show(recorded)}': "
                "leave the option out, or start a new run directory"
            )


def _show(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
