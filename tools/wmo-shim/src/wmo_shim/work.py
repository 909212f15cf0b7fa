"""One episode from its document: opens model and sandbox, runs the agent or waits for one, gives the result."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from wmo_contracts.episode import EpisodeDocument
from wmo_episode.documents import Episode, read_episode
from wmo_episode.patience import Patience
from wmo_episode.result import Ending, conclude
from wmo_episode.runtime import EpisodeCancelled, Runtime
from wmo_episode.runtimes import runtime_for, vendored_runtime
from wmo_episode.server import Shim
from wmo_episode.session import Brief, Session
from wmo_harness.surfaces import parse_tree
from wmo_kit.config import Config, load_config
from wmo_kit.documents import emit
from wmo_kit.errors import Conflict
from wmo_kit.log import Log
from wmo_kit.stopping import Stop, deferred_signals
from wmo_models.endpoint import open_provider
from wmo_suites.box import Bind
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import load_task
from wmo_suites.verifier import shared_binds
from wmo_suites.workspace import copy_workspace, remove_workspace


def play(log: Log, episode: str, port: int, vendor: Path | None, command: Sequence[str]) -> None:
    """Play the episode of the document `episode` and print its result; after a signal, what there is of it.

    Raises BadDocument, Conflict, Missing, OSError, and whatever sandbox or model client raise by failing themselves.
    """
    config = load_config(flags={"vendor": vendor})
    found = read_episode(episode)
    _check_model(found.document, config)
    kind, mode = parse_tree(found.files).runtime_kind, found.document.environment.mode
    vendored = vendored_runtime(kind, config.vendor, mode) if command else None
    with (
        open_provider(config, found.document.model.role, log) as provider,
        deferred_signals() as stop,
        open_sandbox(found) as sandbox,
    ):
        if command:
            agent = runtime_for(found.document, found.files, provider, vendored, port=port)
            _play(replace(agent, model_answers=provider.answers), found, sandbox, command, stop)
        else:
            _serve(log, Session(_brief(found.document), provider, sandbox), port, stop)


def _play(agent: Runtime, episode: Episode, sandbox: Sandbox, command: Sequence[str], stop: Stop) -> None:
    task = episode.document.task
    try:
        with stop.calling(sandbox.close):
            emit(agent.run(task.id, task.instruction, sandbox, command=command, cancel=stop.event))
    except EpisodeCancelled as cancelled:
        emit(cancelled.partial)
        raise


def _check_model(document: EpisodeDocument, config: Config) -> None:
    role, wanted = document.model.role, document.model.name
    configured = config.roles.get(role).model
    if configured != wanted:
        raise Conflict(
            f"the episode is for the model '{wanted}', but the role '{role}' is '{configured}' here: "
            "change WMO_MODEL or wmo.toml, or the document's model.name"
        )


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


def _brief(document: EpisodeDocument) -> Brief:
    return Brief(
        document.task.id,
        document.task.instruction,
        document.system,
        document.tools,
        document.skills,
        document.limits,
    )


def _serve(log: Log, session: Session, port: int, stop: Stop) -> None:
    """Serve until /done or a signal, and print the result in each case. There is no wall budget: a person plays."""
    shim = Shim(session, port=port)
    grace_s = 0.0
    try:
        log.say("ready", f"ready {shim.url} token={shim.token}", url=shim.url, token=shim.token)
        with stop.calling(session.ended.set):
            session.ended.wait()
        grace_s = session.brief.limits.grace_s
    finally:
        shim.close(Patience(grace_s, stop.event))
        if session.failure is None:
            ending = Ending(session.done, session.provider_error)
            emit(conclude(session.brief.task_id, ending, session.steps, session.usage, session.spent()))
    if session.failure is not None:
        raise session.failure
