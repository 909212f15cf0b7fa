"""Requests to the compact exchanges of `wmo.exchanges/1` and back. Pure."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from wmo_contracts.base import mend_text
from wmo_contracts.chat import ChatRequest
from wmo_contracts.exchanges import ChatSettings, Exchange, ExchangesDocument
from wmo_kit.errors import BadDocument


class ChatRecord:
    """Packs the requests of one conversation, one after the other."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._settings: bytes | None = None

    def pack(self, request: ChatRequest) -> Exchange:
        """Give the exchange of the next request, without an answer."""
        new: list[dict[str, Any]] = []
        numbers: list[int] = []
        for message in request.messages:
            text = _canonical(message)
            if text not in self._numbers:
                self._numbers[text] = len(self._numbers)
                new.append(message)
            numbers.append(self._numbers[text])
        settings = chat_settings(request)
        before, self._settings = self._settings, _canonical(settings.model_dump())
        return Exchange(
            digest=request_digest(request),
            new_messages=tuple(new),
            messages=tuple(_runs(numbers)),
            settings=None if before == self._settings else settings,
        )


def unpack(document: ExchangesDocument) -> tuple[ChatRequest, ...]:
    """Give every request whole. Raises BadDocument where one does not hash to its digest."""
    messages: list[dict[str, Any]] = []
    settings = ChatSettings()
    requests: list[ChatRequest] = []
    for turn, exchange in enumerate(document.exchanges, 1):
        messages += exchange.new_messages
        settings = exchange.settings or settings
        chosen = [message for start, stop in exchange.messages for message in messages[start:stop]]
        request = ChatRequest(
            messages=tuple(chosen),
            tools=settings.tools,
            tool_choice=settings.tool_choice,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
        )
        if request_digest(request) != exchange.digest:
            raise BadDocument(f"the recorded request of turn {turn} is damaged: it does not hash to its digest")
        requests.append(request)
    return tuple(requests)


def chat_settings(request: ChatRequest) -> ChatSettings:
    """Give what a request holds besides its messages."""
    return ChatSettings(
        tools=request.tools,
        tool_choice=request.tool_choice,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
    )


def request_digest(request: ChatRequest) -> str:
    """Give the BLAKE2b-16 hex of a whole request. The order of an object's keys does not matter."""
    facts = {"messages": request.messages, **chat_settings(request).model_dump()}
    return hashlib.blake2b(_canonical(facts), digest_size=16).hexdigest()


def _canonical(value: Any) -> bytes:
    """Give one text for equal values. Half characters count as mended, as documents are written."""
    return mend_text(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))).encode()


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs
