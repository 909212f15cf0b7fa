"""Who works on a task: the harness's own agent, the task's solution, or nobody."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from wmo_contracts.episode import EpisodeResult, ModelRef, SandboxMode
from wmo_episode.documents import episode_document
from wmo_episode.runtime import EpisodeCancelled
from wmo_episode.runtimes import runtime_for, vendored_runtime, warm_pool
from wmo_episode.warm_pool import WarmPool
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import HarnessSpec, parse_tree
from wmo_kit.atomic import write_text_atomic
from wmo_kit.child import Flag
from wmo_kit.config import Config, Endpoint
from wmo_kit.errors import Missing, Transient
from wmo_kit.log import Log
from wmo_models.endpoint import open_provider
from wmo_models.failover import Waterfall
from wmo_models.recording import EXCHANGES, RecordingProvider
from wmo_population.trials import EPISODE, RESULT
from wmo_suites.box import Bind
from wmo_suites.oracle import run_oracle, solution_binds
from wmo_suites.task import Task

from wmo_score.matrix import Conditions
from wmo_score.places import Ground, Place


@dataclass(frozen=True)
class Desk:
    """Where one attempt happens: the task, the ground to act in, the evidence folder, and when to stop.

    `place` is what the ground is of.
    """

    task: Task
    ground: Ground
    place: Place
    folder: Path
    cancel: Flag


class Agent(Protocol):
    """Works on a task. Safe to use from many threads."""

    def binds(self, task: Task) -> Sequence[Bind]:
        """Give what the agent needs mounted in the sandbox. Raises BadDocument."""
        ...

    def work(self, desk: Desk) -> EpisodeResult | None:
        """Do the work; give the episode, None where there is none.

        Raises Transient where the model failed for now, Missing where it refuses to work at all.
        """
        ...


class Nop:
    """Does nothing: what a suite gives it is what doing nothing is worth."""

    def binds(self, _task: Task) -> Sequence[Bind]:
        """Give nothing to mount."""
        return ()

    def work(self, _desk: Desk) -> None:
        """Do nothing."""


class Oracle:
    """Runs the task's own solution."""

    def binds(self, task: Task) -> Sequence[Bind]:
        """Give the mount of /solution. Raises BadDocument for a task without one."""
        return solution_binds(task)

    def work(self, desk: Desk) -> None:
        """Run solve.sh; the verifier judges, whatever its exit code."""
        if desk.ground.workspace is None:
            raise AssertionError("the oracle was sent to a place without a workspace")
        run_oracle(desk.task, desk.ground.workspace, shared=desk.ground.sandbox)


@dataclass(frozen=True)
class HarnessAgent:
    """The agent of a harness, as its runtime kind has it, with a model.

    `spec` is what `tree` parses into, `source` the folder that the tree is kept in, `runtime` the vendored libraries
    (None where the harness needs none), `work_dir` a folder for working files.
    """

    tree: SourceTree
    spec: HarnessSpec
    source: Path
    provider: Waterfall
    endpoint: Endpoint
    runtime: Path | None
    mode: SandboxMode
    work_dir: Path
    pool: WarmPool | None

    def binds(self, _task: Task) -> Sequence[Bind]:
        """Give nothing to mount: the agent's process is not in the sandbox."""
        return ()

    def work(self, desk: Desk) -> EpisodeResult:
        """Play one episode; episode.json, exchanges.json and wmo-run.json are its evidence.

        An episode whose own request the model refused, say for its length, is a result. Raises Transient and Missing
        where the model or the ground failed otherwise (what there is of the evidence is written), and what Runtime.run
        raises.
        """
        document = episode_document(
            self.spec,
            self.tree,
            desk.task,
            harness_path=_relative(self.source, desk.folder),
            task_path=_relative(desk.task.path, desk.folder),
            model=ModelRef(name=self.endpoint.model),
            mode=self.mode,
            environment=desk.place.kind,
            recorded=tuple(_relative(path, desk.folder) for path in desk.place.recorded),
            context_window=self.endpoint.context_window,
        )
        write_text_atomic(desk.folder / EPISODE, document.to_text())
        recorder = RecordingProvider(self.provider)
        runtime = runtime_for(document, self.tree, recorder, self.runtime, work=self.work_dir, pool=self.pool)
        runtime = replace(runtime, model_answers=self.provider.answers)

        def keep(partial: EpisodeResult) -> None:
            write_text_atomic(desk.folder / RESULT, partial.to_text())

        try:
            result = runtime.run(
                desk.task.id,
                desk.task.instruction,
                desk.ground.environment,
                cancel=desk.cancel,
                on_failure=keep,
            )
        except EpisodeCancelled as cancelled:
            keep(cancelled.partial)
            raise
        finally:
            write_text_atomic(desk.folder / EXCHANGES, recorder.document().to_text())
        keep(result)
        if result.model_fault == "transient":
            raise Transient(f"the model failed: {result.note}")
        if result.model_fault == "endpoint":
            raise Missing(f"the model failed: {result.note}")
        return result


@contextmanager
def harness_agent(
    log: Log, tree: SourceTree, source: Path, *, config: Config, conditions: Conditions, work_dir: Path
) -> Iterator[HarnessAgent]:
    """Give the agent of a harness, with the configuration's worker model at hand while the context lasts.

    `conditions`: under which it will be scored.

    Raises BadHarness, Missing: the vendored libraries, the offline model, a key.
    """
    spec, mode, request = parse_tree(tree), conditions.sandbox, conditions.request
    episodes = len(request.task_ids) * request.attempts
    runtime = vendored_runtime(spec.runtime_kind, config.vendor, mode)
    with (
        open_provider(config, "worker", log) as provider,
        warm_pool(runtime, mode, episodes, work_dir) as pool,
    ):
        yield HarnessAgent(tree, spec, source, provider, config.roles.worker, runtime, mode, work_dir, pool)


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())
