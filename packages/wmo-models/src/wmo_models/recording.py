"""A Provider that keeps what went through it: one episode's exchanges, to be written beside its result."""

import threading

from wmo_contracts.base import Part, dump_text
from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.exchanges import Exchange, ExchangesDocument, ModelFailure

from wmo_models.chat_record import ChatRecord
from wmo_models.provider import Provider, ProviderError

EXCHANGES = "exchanges.json"
"""The name of the file in the folder of a trial or of a proposer's turn."""
MAX_BYTES = 16 * 1024 * 1024
"""Kept of one episode, as it stands in the file. 60 turns of 16,384 output tokens are about 8 MB."""
INDENT_BYTES = 4
"""How far the file indents an exchange."""


class RecordingProvider:
    """Passes requests on to `provider` and keeps them, for one episode. Safe to use from many threads."""

    def __init__(self, provider: Provider, max_bytes: int = MAX_BYTES) -> None:
        self._provider, self._max_bytes = provider, max_bytes
        self._lock = threading.Lock()
        self._record = ChatRecord()
        self._exchanges: list[Exchange] = []
        self._sizes: list[int] = []
        self._total = 0

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the provider's reply. Raises what it raises."""
        place = self._begin(request)
        try:
            reply = self._provider.complete(request)
        except ProviderError as error:
            self._end(place, failure=_failure(error))
            raise
        self._end(place, reply=reply)
        return reply

    def document(self) -> ExchangesDocument:
        """Give what was kept: the exchanges up to the first that no longer fits, all of it or nothing."""
        with self._lock:
            kept, room = 0, self._max_bytes
            while kept < len(self._sizes) and (room := room - self._sizes[kept]) >= 0:
                kept += 1
            left = self._total - kept
            note = f"the last {left} exchanges are not here: the record ends at {self._max_bytes} bytes" if left else ""
            return ExchangesDocument(exchanges=tuple(self._exchanges[:kept]), total=self._total, note=note)

    def _begin(self, request: ChatRequest) -> int:
        """Note a request; give its place, which is beyond the end once nothing fits any more."""
        with self._lock:
            place = self._total
            self._total += 1
            if sum(self._sizes) <= self._max_bytes:
                exchange = self._record.pack(request)
                self._exchanges.append(exchange)
                self._sizes.append(_size(exchange))
            return place

    def _end(self, place: int, *, reply: ChatReply | None = None, failure: ModelFailure | None = None) -> None:
        with self._lock:
            if place >= len(self._exchanges):
                return
            exchange = self._exchanges[place].model_copy(update={"reply": reply, "failure": failure})
            self._exchanges[place] = exchange
            self._sizes[place] += _size(reply or failure)


def _failure(error: ProviderError) -> ModelFailure:
    return ModelFailure(message=str(error), transient=error.transient, by_request=error.by_request)


def _size(part: Part | None) -> int:
    """Give about how many bytes of the file a part takes."""
    text = "" if part is None else dump_text(part.model_dump(mode="json"))
    return len(text.encode()) + INDENT_BYTES * text.count("\n")
