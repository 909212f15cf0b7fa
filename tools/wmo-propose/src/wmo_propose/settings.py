"""What a run's record says about its proposer, against what the command line says: the record wins, aloud."""

from collections.abc import Sequence

from wmo_contracts.run import ProposerSettings, RunSettings
from wmo_kit.config import Config, Endpoint, Roles
from wmo_kit.errors import Conflict, Usage


def proposer_settings(recorded: ProposerSettings, kind: str | None, argv: Sequence[str]) -> ProposerSettings:
    """Give the run's proposer. `kind` and `argv` are the command line's, None and empty where it says nothing.

    Raises Usage for a command line that contradicts itself, Conflict for one that contradicts the record.
    """
    if argv and kind != "command":
        raise Usage("a command after '--' needs '--proposer command'")
    if kind == "command" and not argv:
        raise Usage("'--proposer command' needs the command after '--'")
    asked = " ".join([kind, *argv]) if kind else None
    said = " ".join([recorded.kind, *recorded.argv])
    if asked is not None and asked != said:
        raise Conflict(
            f"the run's proposer is '{said}', asked is '{asked}': leave '--proposer' out, or start a new run"
        )
    return recorded


def proposer_config(settings: RunSettings, config: Config) -> Config:
    """Give a configuration whose proposer role is the run's recorded endpoint.

    The record has no context window; today's configuration gives it, where it is about the same model.
    """
    recorded, today = settings.proposer_model, config.roles.proposer
    window = today.context_window if today.settings() == recorded else None
    endpoint = Endpoint(**recorded.model_dump(), context_window=window)
    return config.model_copy(update={"roles": Roles(worker=config.roles.worker, proposer=endpoint)})
