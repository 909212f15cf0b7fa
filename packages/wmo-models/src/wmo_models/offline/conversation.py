"""What a persona can see of a request's OpenAI messages: the text, the tool calls made so far and their results."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A tool call: the tool's name and its decoded arguments."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class DoneCall:
    """A call that the persona made earlier in this conversation, and the text that came back."""

    call: Call
    result: str


@dataclass(frozen=True)
class Conversation:
    """One request's messages, read.

    `system` joins the system messages, `instruction` is the first user message, `done` the answered calls in order,
    `call_count` counts the calls ever made, `turns` the assistant's messages, and `latest` is the text of everything
    that came after the last of them.
    """

    system: str
    instruction: str
    done: tuple[DoneCall, ...]
    call_count: int
    turns: int
    latest: str

    def results(self, call: Call) -> list[str]:
        """Give the results of every answered call equal to `call`, in order; empty where it was never made."""
        return [done.result for done in self.done if done.call == call]


def read_conversation(messages: Sequence[dict[str, Any]]) -> Conversation:
    """Read OpenAI chat messages (roles system, developer, user, assistant, tool). Unknown roles count as nothing."""
    system: list[str] = []
    users: list[str] = []
    latest: list[str] = []
    results: dict[str, str] = {}
    asked: list[tuple[str, Call]] = []
    turns = 0
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if role in ("system", "developer"):
            system.append(text)
        elif role == "assistant":
            turns += 1
            latest = []
            asked += [_read_call(call) for call in message.get("tool_calls") or ()]
        elif role in ("user", "tool"):
            latest.append(text)
            if role == "user":
                users.append(text)
            else:
                results[str(message.get("tool_call_id"))] = text
    done = tuple(DoneCall(call, results[identity]) for identity, call in asked if identity in results)
    return Conversation("\n".join(system), users[0] if users else "", done, len(asked), turns, "\n".join(latest))


def text_of(content: Any) -> str:
    """Give the text of a message's content: a string, or a list of typed parts of which the text ones count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def _read_call(raw: dict[str, Any]) -> tuple[str, Call]:
    function = raw.get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "")
    except (
        ValueError,
        TypeError,
        RecursionError,
    ):  # a call that was cut or garbled is remembered as one that did nothing
        arguments = None
    return str(raw.get("id")), Call(str(function.get("name")), arguments if isinstance(arguments, dict) else {})
