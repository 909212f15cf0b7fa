"""A Provider that needs no model: it serves the replies of a record while the harness asks what it asked then."""

import threading
from dataclasses import dataclass
from typing import Literal

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.exchanges import ExchangesDocument

from wmo_models.chat_record import request_digest, unpack
from wmo_models.provider import ProviderError
from wmo_models.request_diff import request_differences

Parting = Literal["other_request", "other_action", "record_ended"]


@dataclass(frozen=True)
class Departure:
    """Where the harness left the record: the turn (completions, counted from 1), and short lines that say how."""

    kind: Parting
    turn: int
    differences: tuple[str, ...]

    def __str__(self) -> str:
        return f"turn {self.turn}: {'; '.join(self.differences)}"


class ReplayProvider:
    """Serves a record's replies in order. From the first other request on it serves nothing. Thread-safe."""

    def __init__(self, record: ExchangesDocument) -> None:
        """Take a record. Raises BadDocument where it is damaged."""
        self._record, self._requests = record, unpack(record)
        self._lock = threading.Lock()
        self._served = 0
        self._departure: Departure | None = None

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the recorded reply. Raises the recorded ProviderError, or one that says where the record was left."""
        with self._lock:
            if self._departure is None:
                self._departure = self._check(request)
            if self._departure is not None:
                raise ProviderError(f"replay: {self._departure}", transient=False, by_request=True)
            exchange = self._record.exchanges[self._served]
            self._served += 1
        if exchange.failure is not None:
            failure = exchange.failure
            raise ProviderError(failure.message, transient=failure.transient, by_request=failure.by_request)
        assert exchange.reply is not None  # noqa: S101  _check saw that there is one
        return exchange.reply

    def depart(self, difference: str) -> None:
        """Serve nothing more: what the harness did with the last reply is not in the record."""
        with self._lock:
            self._departure = self._departure or Departure("other_action", max(self._served, 1), (difference,))

    @property
    def recorded(self) -> int:
        """How many exchanges the record holds."""
        return len(self._record.exchanges)

    @property
    def served(self) -> int:
        """How many recorded exchanges were served so far, failures included."""
        return self._served

    @property
    def departure(self) -> Departure | None:
        """Where the harness left the record; None while it has not."""
        return self._departure

    def _check(self, request: ChatRequest) -> Departure | None:
        turn, kept = self._served + 1, len(self._record.exchanges)
        if turn > kept:
            return Departure("record_ended", turn, (self._why_it_ended(kept),))
        if request_digest(request) != self._record.exchanges[turn - 1].digest:
            said = request_differences(self._requests[turn - 1], request)
            return Departure("other_request", turn, said or ("the same values in another notation, as 1 and 1.0",))
        exchange = self._record.exchanges[turn - 1]
        if exchange.reply is None and exchange.failure is None:
            why = "asked as recorded, but no reply is recorded: the episode was ended while the model was asked"
            return Departure("record_ended", turn, (why,))
        return None

    def _why_it_ended(self, kept: int) -> str:
        if self._record.total > kept:
            return f"asked for another completion, but {self._record.note}"
        return f"asked for another completion, but the record ends after {kept}"
