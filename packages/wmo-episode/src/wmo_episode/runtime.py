"""The Python face of an episode: `PiRuntime(provider, files=..., ...).run(task_id, instruction, environment)`."""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wmo_contracts.episode import EpisodeResult, Limits, SandboxMode, Skill, ToolSpec
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import Cancelled
from wmo_models.provider import Provider
from wmo_suites.environment import Environment

from wmo_episode.layout import runner_folder
from wmo_episode.result import Ending, conclude
from wmo_episode.runner import INSIDE, AnyOf, Runner
from wmo_episode.server import Shim
from wmo_episode.session import Brief, Session

ENTRY_COMMAND = ("node", "--experimental-strip-types", "entry.ts")


class EpisodeCancelled(Cancelled):
    """The episode was cancelled from outside. `partial` is evidence of what was done until then, no result."""

    def __init__(self, task_id: str, partial: EpisodeResult) -> None:
        super().__init__(f"the episode of '{task_id}' was cancelled")
        self.partial = partial


@dataclass(frozen=True)
class PiRuntime:
    """Runs episodes of one harness: its agent in node, its model and its tools behind a shim of its own.

    `files` is the candidate's source tree, `runtime` the folder with node_modules and compile-cache that set-up makes
    (vendor/runtime), `work` where runner folders are made (None: the system's temporary folder), `port` the shim's on
    loopback (0: a free one). Safe to use from many threads at once.
    """

    provider: Provider
    files: SourceTree
    tools: tuple[ToolSpec, ...]
    system: str
    runtime: Path
    skills: tuple[Skill, ...] = ()
    limits: Limits = field(default_factory=Limits)
    mode: SandboxMode = "bwrap"
    work: Path | None = None
    port: int = 0

    def run(
        self,
        task_id: str,
        instruction: str,
        environment: Environment,
        *,
        cancel: threading.Event | None = None,
        command: Sequence[str] = ENTRY_COMMAND,
    ) -> EpisodeResult:
        """Play one episode to its end, whatever that is: a failing or slow agent is a result.

        `environment` stays the caller's to close, except where an action of it outlasts the grace or the run is
        cancelled: then it is closed here. `command` runs in the runner's folder with `node` first on its PATH.
        Raises EpisodeCancelled, Missing (node or bubblewrap), OSError where the folder cannot be made (then nothing was
        started), and whatever the environment or the model client raised by failing themselves.
        """
        watch = _Watch()
        cancelled = cancel or threading.Event()
        runner = Runner(self.runtime, self.mode)
        session = Session(self._brief(task_id, instruction), self.provider, environment)
        with runner_folder(self.files, runner.modules, self.work) as folder:
            watch.mark("materialised")
            shim = Shim(session, port=self.port)
            patience_s = 0.0
            try:
                child = runner.run(
                    command,
                    folder,
                    shim_env={"PI_SHIM_URL": shim.url, "PI_SHIM_TOKEN": shim.token},
                    timeout_s=self.limits.timeout_s,
                    stop=AnyOf((session.ended, cancelled)),
                )
                patience_s = 0.0 if cancelled.is_set() else self.limits.grace_s
                watch.mark("ended")
            finally:
                shim.close(patience_s)
            hidden = {shim.url: "http://shim", shim.address: "shim", shim.token: "TOKEN", str(folder): INSIDE}
        timings = watch.phases(session.moments()) | session.spent()
        if cancelled.is_set() and (session.done is None or session.provider_error is not None):
            cut = Ending(None, None, hidden=hidden)  # not the session's own: what fails now fails for that reason
            raise EpisodeCancelled(task_id, conclude(task_id, cut, session.steps, session.usage, timings))
        if session.failure is not None:
            raise session.failure
        ending = Ending(session.done, session.provider_error, child, math.ceil(self.limits.timeout_s), hidden)
        return conclude(task_id, ending, session.steps, session.usage, timings)

    def _brief(self, task_id: str, instruction: str) -> Brief:
        return Brief(task_id, instruction, self.system, self.tools, self.skills, self.limits)


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
