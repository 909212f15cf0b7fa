"""What a run's record says about its proposer, against what the command line says: the record wins, aloud."""

from collections.abc import Sequence

from wmo_contracts.run import ProposerSettings, RunSettings
from wmo_kit.config import Config
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
    """Give the configuration with the proposer's model that the run records."""
    proposer = config.roles.proposer.as_recorded(settings.proposer_model)
    return config.model_copy(update={"roles": config.roles.model_copy(update={"proposer": proposer})})
