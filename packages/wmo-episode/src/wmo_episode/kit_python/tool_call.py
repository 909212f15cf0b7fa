"""A tool call in a model's text: one JSON object {"tool": NAME, "arguments": {...}}. Pure."""

import json
import re
from typing import Any, NamedTuple, NoReturn

KEYS = {"tool", "arguments"}
OBJECT_START = re.compile(r'\{\s*["}]')
"""Begins a JSON object; the braces of prose and code mostly do not fit."""


class ToolCall(NamedTuple):
    """A call as the model wrote it; whether there is such a tool is for `execute` to say."""

    tool: str
    arguments: dict[str, Any]


class BadToolCall(ValueError):
    """A reply without a tool call that may be executed.

    The message says what is wrong, as a whole sentence to the model. `reason` is the stop reason of an episode that
    ends with such a reply: no_tool_call, unparsed_tool_call or output_truncated.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def parse_tool_call(text: str, cut_at: int | None = None) -> ToolCall:
    """Give the call that the first JSON object in `text` is; prose and code fences around it do not matter.

    Only the first object counts: were a later one taken where the first is broken, a call quoted inside a broken one
    would be executed. `cut_at` is the output limit, in tokens, at which the model was cut off, None where it was not; a
    call in a message that was cut is not executed, however whole it looks. Raises BadToolCall.
    """
    start = OBJECT_START.search(text)
    if cut_at is not None:
        limit = f"the output limit of {cut_at} tokens"
        if start is None:
            raise BadToolCall(
                "output_truncated", f"Your last message was cut off at {limit} before any tool call. Write less."
            )
        raise BadToolCall(
            "unparsed_tool_call",
            f"Your last tool call was cut off at {limit} and was not executed. Split the work into smaller calls.",
        )
    if start is None:
        raise BadToolCall("no_tool_call", "Your last message had no tool call.")
    return _read(text[start.start() :])


def _read(text: str) -> ToolCall:
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)
    try:
        value, _ = decoder.raw_decode(text)
    except (ValueError, RecursionError) as error:
        _refuse(f"it is not valid JSON: {error}")
    if value.keys() != KEYS:
        _refuse('it must have the keys "tool" and "arguments", and no other')
    if not isinstance(value["tool"], str):
        _refuse('"tool" must be a string, the name of a tool')
    if not isinstance(value["arguments"], dict):
        _refuse('"arguments" must be a JSON object')
    return ToolCall(value["tool"], value["arguments"])


def _refuse(problem: str) -> NoReturn:
    raise BadToolCall("unparsed_tool_call", f"Your last tool call was not executed: {problem}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
