"""The one thing the rest of the system knows about a model: it completes a chat, or fails in a typed way."""

from typing import Protocol

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_kit.errors import Missing, Transient, WmoError


class ProviderError(WmoError):
    """A model gave no usable reply. `transient`: the same request may succeed later (exit 75, else 69)."""

    def __init__(self, message: str, *, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient
        self.code = Transient.code if transient else Missing.code


class Provider(Protocol):
    """A model endpoint. Safe to use from many threads."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the model's message for `request`. Raises ProviderError."""
        ...
