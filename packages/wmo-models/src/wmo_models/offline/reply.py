"""A persona's next message, and what the limits of a request make of it: cut or garbled as real models' are."""

import json
from dataclasses import dataclass

from wmo_models.offline.conversation import Call
from wmo_models.offline.text_tools import call_as_text
from wmo_models.offline.tokens import CHARACTERS_PER_TOKEN, count_tokens

THINKING_TOKENS = 256
"""What the simulated model spends before it writes; it counts against the output limit, as reasoning does."""
HOT_TEMPERATURE = 1.3
"""Above this temperature long tool calls come out garbled."""
HOT_CHARACTERS = 80
"""The longest arguments text that survives a temperature above HOT_TEMPERATURE."""


@dataclass(frozen=True)
class Move:
    """What a persona wants to say: a sentence, and at most one tool call."""

    text: str
    call: Call | None = None


@dataclass(frozen=True)
class Reply:
    """What comes out: `arguments` is the raw text of the call to `tool` (None where there is no call).

    `finish_reason` is OpenAI's: stop, tool_calls or length.
    """

    text: str
    tool: str | None
    arguments: str
    finish_reason: str
    completion_tokens: int


def bash(command: str) -> Call:
    """Give the call of the bash tool that runs `command`."""
    return Call("bash", {"command": command})


def submit(answer: str) -> Call:
    """Give the call that hands in `answer`."""
    return Call("submit", {"answer": answer})


def arguments_text(call: Call) -> str:
    """Give a call's arguments as the JSON text that the model types."""
    return json.dumps(call.arguments, ensure_ascii=False)


def call_tokens(text: str, call: Call) -> int:
    """Give the output tokens that a message of `text` and `call` costs."""
    return THINKING_TOKENS + count_tokens(text) + count_tokens(arguments_text(call))


def utter(move: Move, max_tokens: int | None, temperature: float | None, *, in_text: bool = False) -> Reply:
    """Give `move` as it leaves the model under the request's limits (None: no limit, default temperature).

    A message above `max_tokens` is cut there with finish_reason "length", a call's arguments in mid-text. `in_text`: a
    call is written in the message's text.
    """
    if in_text and move.call is not None:
        arguments = _typed_arguments(move.call, temperature)
        move = Move(f"{move.text}\n{call_as_text(move.call.name, arguments)}")
    if max_tokens is not None and max_tokens <= THINKING_TOKENS:
        return Reply("", None, "", "length", max_tokens)
    spent = THINKING_TOKENS + count_tokens(move.text)
    if max_tokens is not None and spent > max_tokens:
        return Reply(_first_tokens(move.text, max_tokens - THINKING_TOKENS), None, "", "length", max_tokens)
    if move.call is None:
        return Reply(move.text, None, "", "stop", spent)
    arguments = _typed_arguments(move.call, temperature)
    wanted = spent + count_tokens(arguments)
    if max_tokens is not None and wanted > max_tokens:
        return Reply(move.text, move.call.name, _first_tokens(arguments, max_tokens - spent), "length", max_tokens)
    return Reply(move.text, move.call.name, arguments, "tool_calls", wanted)


def _typed_arguments(call: Call, temperature: float | None) -> str:
    arguments = arguments_text(call)
    hot = (temperature or 0.0) > HOT_TEMPERATURE and len(arguments) > HOT_CHARACTERS
    return _garbled(arguments) if hot else arguments


def _first_tokens(text: str, tokens: int) -> str:
    return text[: tokens * CHARACTERS_PER_TOKEN]


def _garbled(arguments: str) -> str:
    """Turn the middle third round and lose the end: no JSON any more, however leniently it is read."""
    third = len(arguments) // 3
    return arguments[:third] + arguments[2 * third - 1 : third - 1 : -1] + arguments[2 * third : -2]
