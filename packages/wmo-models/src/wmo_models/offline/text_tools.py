"""Tools in text: how the worker acts where a request offers no functions, but its prompt says how to write a call.

The prompt must show the form {"tool": ..., "arguments": ...} and list the tools as lines `- name(argument, ...)`. The
worker's calls are then JSON objects in its messages, and the user message after one is the call's result.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from wmo_models.offline.conversation import text_of
from wmo_models.offline.tokens import count_tokens

FORM = '{"tool": "%s", "arguments": %s}'
_FORM_SHOWN = re.compile(r'\{\s*"tool":.*"arguments":')
_TOOL_LINE = re.compile(r"^- ([a-z_]+)\([a-z_, ]*\)", re.MULTILINE)
_CALL = re.compile(r'\{"tool": ')
FORM_TOKENS = count_tokens("\n" + FORM % ("write_file", "")) + 1
"""What the form costs beside the arguments, at most."""


def tools_in_text(messages: Sequence[dict[str, Any]]) -> frozenset[str]:
    """Give the names of the tools that the system messages describe; empty where they show no form for a call."""
    system = "\n".join(text_of(message.get("content")) for message in messages if message.get("role") == "system")
    return frozenset(_TOOL_LINE.findall(system)) if _FORM_SHOWN.search(system) else frozenset()


def as_function_calls(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the same conversation with calls that stand in text, and their results, in the form of function calls.

    A call that is no whole JSON object was cut or garbled: what follows it is no result.
    """
    found: list[dict[str, Any]] = []
    pending = None
    for number, message in enumerate(messages):
        role, content = message.get("role"), text_of(message.get("content"))
        if role == "user" and pending is not None:
            found.append({"role": "tool", "tool_call_id": pending, "content": content})
        elif role == "assistant" and (call := _written_call(content)) is not None:
            function = {"name": call["tool"], "arguments": json.dumps(call["arguments"])}
            found.append({**message, "tool_calls": [{"id": f"text_{number}", "function": function}]})
            pending = f"text_{number}"
            continue
        else:
            found.append(message)
        pending = None
    return found


def call_as_text(name: str, arguments: str) -> str:
    """Give the text of a call; `arguments` is JSON, or what garbling left of it."""
    return FORM % (name, arguments)


def _written_call(text: str) -> dict[str, Any] | None:
    start = _CALL.search(text)
    if start is None:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start.start())
    except (ValueError, RecursionError):
        return None
    arguments = value.get("arguments")
    return value if isinstance(value.get("tool"), str) and isinstance(arguments, dict) else None
