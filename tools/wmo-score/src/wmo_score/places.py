"""Where trials happen: in a real workspace, in a world that a model plays, or in recorded episodes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wmo_contracts.episode import EnvironmentKind, SandboxMode, Usage
from wmo_episode.world import PlayedWorld
from wmo_kit.atomic import write_text_atomic
from wmo_kit.config import Config
from wmo_kit.log import Log
from wmo_models.endpoint import open_provider
from wmo_models.provider import Provider
from wmo_population.trials import WORLD_EXCHANGES
from wmo_suites.box import Bind
from wmo_suites.environment import Environment
from wmo_suites.nearest import RecordedSteps
from wmo_suites.recorded import Recordings
from wmo_suites.replay import Replay
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task
from wmo_suites.workspace import copy_workspace


@dataclass(frozen=True)
class Ground:
    """What one attempt acts in. `workspace` and `sandbox` are there where it is real, `world` where a model plays."""

    environment: Environment
    workspace: Path | None = None
    sandbox: Sandbox | None = None
    world: PlayedWorld | None = None

    @property
    def world_usage(self) -> Usage | None:
        """What the world model used, None where there is none."""
        return None if self.world is None else self.world.usage


class Place(Protocol):
    """Makes the ground of each attempt. Safe to use from many threads."""

    @property
    def kind(self) -> EnvironmentKind:
        """Which environment it is."""
        ...

    @property
    def recorded(self) -> tuple[Path, ...]:
        """The folders of recorded episodes that it uses."""
        ...

    def open(self, task: Task, room: Path, folder: Path, binds: Sequence[Bind]) -> AbstractContextManager[Ground]:
        """Give fresh ground. `room` is the attempt's folder for working files, `folder` the one for evidence."""
        ...


@dataclass(frozen=True)
class RealPlace:
    """A fresh copy of the task's workspace in a sandbox, with `binds` mounted."""

    mode: SandboxMode
    kind: EnvironmentKind = "sandbox"
    recorded: tuple[Path, ...] = ()

    @contextmanager
    def open(self, task: Task, room: Path, _folder: Path, binds: Sequence[Bind]) -> Iterator[Ground]:
        """Give it. Raises BadDocument, OSError."""
        workspace = room / "app"
        copy_workspace(task, workspace)
        with Sandbox(workspace, binds=binds, limits=task.limits, mode=self.mode) as sandbox:
            yield Ground(sandbox, workspace, sandbox)


@dataclass(frozen=True)
class RecordedPlace:
    """Answers from recorded episodes alone."""

    steps: RecordedSteps
    recorded: tuple[Path, ...]
    kind: EnvironmentKind = "replay"

    @contextmanager
    def open(self, task: Task, _room: Path, _folder: Path, _binds: Sequence[Bind]) -> Iterator[Ground]:
        """Give a replay that begins anew."""
        yield Ground(Replay(task.id, self.steps))


@dataclass(frozen=True)
class WorldPlace:
    """A world model, each attempt a session of its own; what it was asked is kept as evidence."""

    provider: Provider
    steps: RecordedSteps
    recorded: tuple[Path, ...]
    kind: EnvironmentKind = "world-model"

    @contextmanager
    def open(self, task: Task, _room: Path, folder: Path, _binds: Sequence[Bind]) -> Iterator[Ground]:
        """Give a world as it is before the agent comes. Raises OSError where its evidence cannot be written."""
        world = PlayedWorld(self.provider, task.id, task.instruction, self.steps)
        try:
            yield Ground(world, world=world)
        finally:
            world.close()
            write_text_atomic(folder / WORLD_EXCHANGES, world.exchanges().to_text())


def tell_of_gaps(log: Log, kind: EnvironmentKind, recordings: Recordings, task_ids: Iterable[str]) -> None:
    """Say in one line which tasks have no recorded episode: a world then guesses more, a replay answers nothing."""
    missing = sorted(set(task_ids) - {one.task_id for one in recordings.episodes})
    if kind == "sandbox" or not missing:
        return
    if not recordings.episodes:
        log.say("warning", "no recorded episodes: the world model guesses from the instruction and the call alone")
    else:
        then = "every call is answered with an error" if kind == "replay" else "examples are of other tasks alone"
        log.say("warning", f"no recorded episode of {', '.join(missing)}: {then} there")


@contextmanager
def open_place(
    log: Log,
    config: Config,
    kind: EnvironmentKind,
    *,
    mode: SandboxMode,
    recordings: Recordings,
    folders: tuple[Path, ...],
) -> Iterator[Place]:
    """Give the place of a kind; `recordings` are what was read in `folders`, `mode` is a sandbox's.

    The world's model is the configuration's. Raises Missing, Conflict.
    """
    if kind == "sandbox":
        yield RealPlace(mode)
    elif kind == "replay":
        yield RecordedPlace(RecordedSteps(recordings.episodes), folders)
    else:
        with open_provider(config, "world", log) as provider:
            yield WorldPlace(provider, RecordedSteps(recordings.episodes), folders)
