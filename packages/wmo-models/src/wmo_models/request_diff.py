"""What is different between two chat requests, in few short lines for people. Pure."""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from wmo_contracts.chat import ChatRequest
from wmo_kit.errors import shown

MAX_LINES = 8
EXCERPT_CHARS = 80
BEFORE_CHARS = 20
"""How much an excerpt shows before the first character that differs."""
SYSTEM_ROLES = ("system", "developer")


def request_differences(recorded: ChatRequest, asked: ChatRequest) -> tuple[str, ...]:
    """Name what `asked` has other than `recorded`: settings, tools, messages (counted from 1); () where nothing."""
    lines = [*_settings(recorded, asked), *_tools(recorded.tools, asked.tools), *_messages(recorded, asked)]
    more = len(lines) - MAX_LINES
    return tuple(lines if more <= 0 else [*lines[:MAX_LINES], f"{more} more differences"])


def text_difference(recorded: str, asked: str) -> str:
    """Show the first line that differs between two texts: its number, and both around the first other character."""
    pairs = zip_longest(recorded.split("\n"), asked.split("\n"))
    number, (old, new) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    if old is None or new is None:
        left = "\n".join((recorded if new is None else asked).split("\n")[number - 1 :]).strip()
        what = "recorded, now missing" if new is None else "new"
        return f"line {number} is {what}: '{shown(left, EXCERPT_CHARS)}'"
    same = next(i for i, pair in enumerate(zip_longest(old, new)) if pair[0] != pair[1])
    return f"line {number}: recorded '{_excerpt(old, same)}', now '{_excerpt(new, same)}'"


def _excerpt(line: str, around: int) -> str:
    start = max(0, around - BEFORE_CHARS)
    return ("..." if start else "") + shown(line[start:], EXCERPT_CHARS)


def _settings(recorded: ChatRequest, asked: ChatRequest) -> Iterator[str]:
    for name in ("temperature", "max_tokens", "tool_choice"):
        old, new = getattr(recorded, name), getattr(asked, name)
        if old != new:
            yield f"{name}: recorded {shown(json.dumps(old))}, now {shown(json.dumps(new))}"


def _tools(recorded: Sequence[dict[str, Any]], asked: Sequence[dict[str, Any]]) -> Iterator[str]:
    old, new = _by_name(recorded), _by_name(asked)
    for verb, names in (
        ("no longer offered", [name for name in old if name not in new]),
        ("newly offered", [name for name in new if name not in old]),
        ("described differently", [name for name in old if name in new and old[name] != new[name]]),
    ):
        if names:
            yield f"tools {verb}: {shown(', '.join(names))}"
    if list(recorded) != list(asked) and old == new:
        yield "tools: in another order"


def _by_name(tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {str(tool["function"]["name"]): tool for tool in tools}


def _messages(recorded: ChatRequest, asked: ChatRequest) -> Iterator[str]:
    old, new = recorded.messages, asked.messages
    if len(old) != len(new):
        yield f"messages: recorded {len(old)}, now {len(new)}"
    for number, (before, now) in enumerate(zip(old, new, strict=False), 1):
        if before != now:
            yield f"{_name(number, now)}: {_message(before, now)}"
    for number, extra in enumerate(new[len(old) :], len(old) + 1):
        yield f"{_name(number, extra)} is new: '{shown(_text(extra), EXCERPT_CHARS)}'"
    for number, missing in enumerate(old[len(new) :], len(new) + 1):
        yield f"{_name(number, missing)} is missing: '{shown(_text(missing), EXCERPT_CHARS)}'"


def _name(number: int, message: dict[str, Any]) -> str:
    role = str(message.get("role"))
    return "system prompt" if number == 1 and role in SYSTEM_ROLES else f"message {number} ({role})"


def _message(before: dict[str, Any], now: dict[str, Any]) -> str:
    if before.get("role") != now.get("role"):
        return f"recorded one of role {before.get('role')}: '{shown(_text(before), EXCERPT_CHARS)}'"
    old, new = _text(before), _text(now)
    if old != new:
        return text_difference(old, new)
    keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    return f"another {', '.join(keys)}"


def _text(message: dict[str, Any]) -> str:
    """Give a message as people read it: its text, then its tool calls."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", json.dumps(part))) for part in content)
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return "\n".join([content or "", *(f"{call.get('name')} {call.get('arguments')}" for call in calls)]).strip("\n")
