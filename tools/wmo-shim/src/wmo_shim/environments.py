"""What answers an episode's tools, as its document names it: a sandbox, a world model, recorded episodes."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from wmo_episode.documents import Episode
from wmo_episode.world import PlayedWorld
from wmo_kit.config import Config
from wmo_kit.log import Log
from wmo_models.endpoint import open_provider
from wmo_suites.box import Bind
from wmo_suites.environment import Environment
from wmo_suites.limits import SandboxLimits
from wmo_suites.nearest import RecordedSteps
from wmo_suites.recorded import read_recordings
from wmo_suites.replay import Replay
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import load_task
from wmo_suites.verifier import shared_binds
from wmo_suites.workspace import copy_workspace, remove_workspace


@contextmanager
def open_environment(episode: Episode, config: Config, log: Log) -> Iterator[Environment]:
    """Open the document's environment; a world model is the configuration's. Raises BadDocument, Missing, OSError."""
    task, kind = episode.document.task, episode.document.environment.kind
    if kind == "sandbox":
        with open_sandbox(episode) as sandbox:
            yield sandbox
        return
    recorded = RecordedSteps(read_recordings(episode.recorded).episodes)
    if kind == "replay":
        yield Replay(task.id, recorded)
        return
    with open_provider(config, "world", log) as provider:
        yield PlayedWorld(provider, task.id, task.instruction, recorded)


@contextmanager
def open_sandbox(episode: Episode) -> Iterator[Sandbox]:
    """Open a sandbox over a copy of the task's workspace, an empty one where the document names no task folder.

    The agent sees in it what it sees when wmo-score plays the task. Raises BadDocument, Missing, OSError.
    """
    ref = episode.document.environment
    scratch = Path(tempfile.mkdtemp(prefix="wmo-shim-"))
    try:
        workspace, limits = scratch / "app", SandboxLimits()
        binds: tuple[Bind, ...] = ()
        if episode.task_path is None:
            workspace.mkdir()
        else:
            task = load_task(episode.task_path)
            copy_workspace(task, workspace)
            limits, binds = task.limits, shared_binds(task, scratch, scratch)
        limits = replace(limits, command_timeout_s=ref.command_timeout_s, output_cap_bytes=ref.output_cap_bytes)
        with Sandbox(workspace, binds=binds, limits=limits, mode=ref.mode) as sandbox:
            yield sandbox
    finally:
        remove_workspace(scratch)
