"""One episode from its document: opens model and environment, runs the agent or waits for one, gives the result."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wmo_contracts.episode import EpisodeDocument
from wmo_episode.documents import Episode, read_episode
from wmo_episode.door import on_loopback
from wmo_episode.patience import Patience
from wmo_episode.result import Ending, conclude
from wmo_episode.runtime import EpisodeCancelled, Runtime
from wmo_episode.runtimes import runtime_for, vendored_runtime
from wmo_episode.server import Shim
from wmo_episode.session import Brief, Session
from wmo_harness.surfaces import parse_tree
from wmo_kit.config import Config, load_config
from wmo_kit.consent import NO_SANDBOX, require_consent
from wmo_kit.documents import emit
from wmo_kit.errors import Conflict
from wmo_kit.log import Log
from wmo_kit.stopping import Stop, deferred_signals
from wmo_models.endpoint import open_provider
from wmo_suites.environment import Environment

from wmo_shim.environments import open_environment


def play(log: Log, episode: str, port: int, vendor: Path | None, command: Sequence[str], *, yes: bool) -> None:
    """Play the episode of the document `episode` and print its result; after a signal, what there is of it.

    `yes` is the user's consent to a real model without a sandbox. Raises Usage or Negative without it, BadDocument,
    Conflict, Missing, OSError, and what environment or model client raise by failing themselves.
    """
    config = load_config(flags={"vendor": vendor})
    found = read_episode(episode)
    _check_model(found.document, config)
    kind, mode = parse_tree(found.files).runtime_kind, found.document.environment.mode
    if mode == "none" and not config.roles.get(found.document.model.role).settings().simulated:
        require_consent(NO_SANDBOX, yes=yes)
    vendored = vendored_runtime(kind, config.vendor, mode) if command else None
    with (
        open_provider(config, found.document.model.role, log) as provider,
        deferred_signals() as stop,
        open_environment(found, config, log) as environment,
    ):
        if command:
            agent = runtime_for(found.document, found.files, provider, vendored, port=port)
            _play(replace(agent, model_answers=provider.answers), found, environment, command, stop)
        else:
            _serve(log, Session(_brief(found.document), provider, environment), port, stop)


def _play(agent: Runtime, episode: Episode, environment: Environment, command: Sequence[str], stop: Stop) -> None:
    task = episode.document.task
    try:
        with stop.calling(environment.close):
            emit(agent.run(task.id, task.instruction, environment, command=command, cancel=stop.event))
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
    door = on_loopback(port)
    shim = Shim(session, door)
    grace_s = 0.0
    try:
        log.say("ready", f"ready {door.url} token={door.token}", url=door.url, token=door.token)
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
