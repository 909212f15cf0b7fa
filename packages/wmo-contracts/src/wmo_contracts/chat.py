"""A chat completion between the shim and a provider, in OpenAI's own shapes. Never on stdout: no schema line."""

from typing import Any

from pydantic import Field

from wmo_contracts.base import Part
from wmo_contracts.episode import Usage


class ChatRequest(Part):
    """One completion to make. `messages` and `tools` are OpenAI chat JSON, passed through as the agent sent them."""

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None


class ToolCall(Part):
    """A tool call as the model wrote it: `arguments` is the raw JSON text."""

    id: str
    name: str
    arguments: str


class ChatReply(Part):
    """The model's message. `finish_reason` is the endpoint's own word (stop, tool_calls, length, ...).

    `refusal` is what the model said in the place where some models say that they refuse; "" where it said nothing.
    """

    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str
    model: str
    refusal: str = ""
    usage: Usage = Field(default_factory=Usage)
