"""The Python face of an episode: `PiRuntime(provider, files=..., ...).run(task_id, instruction, environment)`.

`Runtime` is what all kinds share, the whole course of an episode; a kind says which process the agent is. pi-node is
here, kit-python in kit_runtime.py; runtimes.py chooses by a harness's runtime_kind.
"""

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import ClassVar

from wmo_contracts.episode import EpisodeResult, Limits, SandboxMode, Skill, ToolSpec
from wmo_harness.source_tree import SourceTree
from wmo_kit.child import Flag
from wmo_kit.errors import Cancelled
from wmo_models.provider import Provider, ProviderError
from wmo_suites.environment import Environment

from wmo_episode.layout import node_folder
from wmo_episode.node_interpreter import Node
from wmo_episode.patience import Patience
from wmo_episode.result import Ending, conclude
from wmo_episode.runner import INSIDE, Agent, AnyOf, Interpreter, Runner
from wmo_episode.server import Shim
from wmo_episode.session import Brief, Session
from wmo_episode.warm_pool import WarmPool


class EpisodeCancelled(Cancelled):
    """The episode was cancelled from outside. `partial` is evidence of what was done until then, no result."""

    def __init__(self, task_id: str, partial: EpisodeResult) -> None:
        super().__init__(f"the episode of '{task_id}' was cancelled")
        self.partial = partial


@dataclass(frozen=True)
class Runtime(ABC):
    """Runs episodes of one harness: its agent in a process, its model and its tools behind a shim of its own.

    `files` is the candidate's source tree, `work` where runner folders are made (None: the system's temporary folder),
    `port` the shim's on loopback (0: a free one). `model_answers` says whether the model is well; it is asked where an
    episode's time ends while the model has not answered. Safe to use from many threads at once.
    """

    NAME: ClassVar[str]
    """Stands in the closing step of a result that is no submission."""
    ENTRY_COMMAND: ClassVar[Sequence[str]]
    """Plays the candidate's agent in the runner's folder."""

    provider: Provider
    files: SourceTree
    tools: tuple[ToolSpec, ...]
    system: str
    _: KW_ONLY
    skills: tuple[Skill, ...] = ()
    limits: Limits = field(default_factory=Limits)
    mode: SandboxMode = "bwrap"
    work: Path | None = None
    port: int = 0
    model_answers: Callable[[], bool] = lambda: True

    @abstractmethod
    def interpreter(self) -> Interpreter:
        """Give what runs the candidate's language."""

    @abstractmethod
    def folder(self) -> AbstractContextManager[Path]:
        """Make the runner's folder, to be removed at the end. Raises OSError."""

    def run(
        self,
        task_id: str,
        instruction: str,
        environment: Environment,
        *,
        cancel: Flag | None = None,
        command: Sequence[str] | None = None,
        on_failure: Callable[[EpisodeResult], None] = lambda _partial: None,
    ) -> EpisodeResult:
        """Play one episode to its end, whatever that is: a failing or slow agent is a result.

        `environment` stays the caller's to close, except where an action of it outlasts the grace or the run is
        cancelled: then it is closed here. `command` (None: ENTRY_COMMAND) runs in the runner's folder with the
        interpreter first on its PATH. `on_failure` is given what there is of an episode before a failure of the
        environment's or the client's own is raised. Raises EpisodeCancelled, Missing (interpreter or bubblewrap),
        OSError where the folder cannot be made (then nothing was started), and whatever the environment or the model
        client raised by failing themselves.
        """
        watch = _Watch()
        cancelled = cancel or threading.Event()
        session = Session(self._brief(task_id, instruction), self.provider, environment)
        with self._agent(command or self.ENTRY_COMMAND) as agent:
            watch.mark("materialised")
            process, door = agent.process, agent.door
            hidden = {door.url: "http://shim", door.address: "shim", door.token: "TOKEN", str(process.folder): INSIDE}
            shim = Shim(session, door)
            grace_s = 0.0
            try:
                process.child.feed(b"")
                stop = AnyOf((session.ended, cancelled))
                child = process.wait(self.limits.timeout_s, stop, session.lost_s, session.ended)
                silent = child.timed_out and session.unanswered
                grace_s = self.limits.grace_s
                watch.mark("ended")
            finally:
                shim.close(Patience(grace_s, cancelled))
        timings = watch.phases(session.moments()) | session.spent()
        cut = Ending(None, None, hidden=hidden, runtime=self.NAME)
        if cancelled.is_set() and (session.done is None or session.provider_error is not None):
            # not the session's own ending: what fails now fails for that reason
            raise EpisodeCancelled(task_id, conclude(task_id, cut, session.steps, session.usage, timings))
        if session.failure is not None:
            on_failure(conclude(task_id, cut, session.steps, session.usage, timings))
            raise session.failure
        wall_s = math.ceil(self.limits.timeout_s)
        failed = session.provider_error
        if silent and failed is None and not self.model_answers():
            failed = ProviderError("the model did not answer, neither the agent nor a short question", transient=True)
        ending = Ending(session.done, failed, child, wall_s, hidden, self.NAME)
        return conclude(task_id, ending, session.steps, session.usage, timings)

    @contextmanager
    def _agent(self, command: Sequence[str]) -> Iterator[Agent]:
        runner = Runner(self.interpreter(), self.mode)
        with self.folder() as folder, runner.started(command, folder, port=self.port) as agent:
            yield agent

    def _brief(self, task_id: str, instruction: str) -> Brief:
        return Brief(task_id, instruction, self.system, self.tools, self.skills, self.limits)


@dataclass(frozen=True)
class PiRuntime(Runtime):
    """Runs a pi-node harness: the candidate's own pi in node.

    `runtime` is the folder with node_modules and compile-cache that set-up makes (vendor/runtime). `pool` holds
    processes that are ready for ENTRY_COMMAND; where it has none, one is started.
    """

    NAME = "pi"
    ENTRY_COMMAND = ("node", "--experimental-strip-types", "entry.ts")

    runtime: Path
    pool: WarmPool | None = None

    def interpreter(self) -> Node:
        """Give node with pi's libraries."""
        return Node(self.runtime)

    def folder(self) -> AbstractContextManager[Path]:
        """Make the folder with entry.ts. Raises OSError."""
        return node_folder(self.files, self.interpreter().modules(self.mode), self.work)

    @contextmanager
    def _agent(self, command: Sequence[str]) -> Iterator[Agent]:
        with ExitStack() as stack:
            ready = None
            if self.pool is not None and command == self.ENTRY_COMMAND:
                ready = stack.enter_context(self.pool.take(self.files))
            yield ready or stack.enter_context(super()._agent(command))


class _Watch:
    """Cuts an episode's wall time into phases."""

    PHASES = (
        ("materialise", "started", "materialised"),
        ("start", "materialised", "task"),
        ("load", "task", "completion"),
        ("turns", "completion", "done"),
        ("stop", "done", "ended"),
        ("total", "started", "ended"),
    )
    """Name, begin and end of each. start: process to its first request; load: the agent's modules, to its first
    completion request; turns hold `model` and `tools`, which the session measures."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        self.mark("started")

    def mark(self, name: str) -> None:
        """Note this moment."""
        self._at[name] = time.monotonic()

    def phases(self, moments: Mapping[str, float]) -> dict[str, float]:
        """Give seconds by phase, `moments` being the session's; a phase that was never reached is absent."""
        at = self._at | dict(moments)
        return {name: round(at[end] - at[begin], 4) for name, begin, end in self.PHASES if begin in at and end in at}
