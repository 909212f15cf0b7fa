"""The one thing the rest of the system knows about a model: it completes a chat, or fails in a typed way."""

from typing import Protocol

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.episode import ModelFault
from wmo_kit.errors import Missing, Transient, WmoError


class ProviderError(WmoError):
    """A model gave no usable reply. `transient`: the same request may succeed later (exit 75, else 69).

    `by_request`: the endpoint is well and refuses this one request, say for its length. Whoever made the request is to
    blame then, and nobody needs to wait for anything.
    """

    def __init__(self, message: str, *, transient: bool, by_request: bool = False) -> None:
        super().__init__(message)
        self.transient = transient
        self.by_request = by_request
        self.code = Transient.code if transient else Missing.code

    @property
    def fault(self) -> ModelFault:
        """Whose failing it is: what will pass, the endpoint's or its configuration's, the request's own."""
        if self.transient:
            return "transient"
        return "request" if self.by_request else "endpoint"


class Provider(Protocol):
    """A model endpoint. Safe to use from many threads."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the model's message for `request`. Raises ProviderError."""
        ...
