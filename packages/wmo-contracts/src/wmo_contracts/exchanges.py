"""What was asked of a model in one episode, and what it answered (`wmo.exchanges/1`): enough to play it again.

A conversation grows by a few messages a turn, and every request repeats it whole. So each message is kept once, in the
exchange that sent it first, and a request names its messages: the file grows with the conversation, not its square.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from wmo_contracts.base import Document, Part
from wmo_contracts.chat import ChatReply

Index = Annotated[int, Field(ge=0)]


class ChatSettings(Part):
    """What a request holds besides its messages, as in ChatRequest."""

    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None


class ModelFailure(Part):
    """Why there was no reply. `transient`: the same request might have succeeded later.

    `by_request`: the endpoint was well and refused this one request, say for its length.
    """

    message: str
    transient: bool
    by_request: bool = False


class Exchange(Part):
    """One request and its reply.

    `new_messages` are those that no earlier exchange has; all exchanges' together, in order, are numbered from 0.
    `messages` is the whole request: runs [from, to) of these numbers. `settings` is null where they are the last
    exchange's. `digest` is the BLAKE2b-16 hex of the whole request. Without `reply` and `failure`, the episode ended
    while the model was being asked.
    """

    digest: str
    new_messages: tuple[dict[str, Any], ...]
    messages: tuple[tuple[Index, Index], ...]
    settings: ChatSettings | None = None
    reply: ChatReply | None = None
    failure: ModelFailure | None = None


class ExchangesDocument(Document):
    """`wmo.exchanges/1`: an episode's exchanges, in the order in which they were asked.

    `total` counts those that there were; where it is more than are here, `note` says why.
    """

    SCHEMA: ClassVar[str] = "wmo.exchanges/1"

    exchanges: tuple[Exchange, ...]
    total: Index
    note: str = ""
