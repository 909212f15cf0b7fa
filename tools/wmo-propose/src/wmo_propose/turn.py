"""One proposer turn: what any coding agent does with a workspace, and what is kept of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from wmo_contracts.episode import Usage
from wmo_contracts.exchanges import ExchangesDocument
from wmo_kit.stopping import Stop

from wmo_propose.workspace import Workspace

TURN_WALL_S = 1800.0
"""A turn's wall budget in seconds, whoever proposes."""


@dataclass(frozen=True)
class Turn:
    """How a turn ended.

    `problem` says why it is no submission, "" where it is one. `outage` says what failed around the agent, "" where
    nothing did: such a turn says nothing about the candidate, and its slot stays unspent; it is `lasting` where the
    next would end the same way. Neither does one that is
    `cut_short`, by a signal to us. `events` is the evidence, as JSON values; wall times only below a key `timings`.
    `exchanges` is what the model was asked and answered, where the turn went through us.
    """

    stop_reason: str
    summary: str
    events: Mapping[str, Any]
    problem: str = ""
    outage: str = ""
    lasting: bool = False
    cut_short: bool = False
    usage: Usage = field(default_factory=Usage)
    exchanges: ExchangesDocument | None = None


class TurnTaker(Protocol):
    """A coding agent that edits `workspace.candidate`."""

    def take_turn(self, workspace: Workspace, stop: Stop) -> Turn:
        """Let the agent work to its end, to TURN_WALL_S or to `stop`. Raises Missing where it cannot start."""
        ...
