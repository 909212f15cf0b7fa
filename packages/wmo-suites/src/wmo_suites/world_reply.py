"""The world model's reply, read strictly: one JSON object with exactly three keys. Anything else is no observation."""

from dataclasses import dataclass
from typing import Any

from wmo_contracts.chat import ChatReply

from wmo_suites.json_reply import parse_reply

KEYS = {"content": str, "is_error": bool, "state_note": str}


class BadReply(Exception):
    """A reply that is not as it must be. The message is a clause: "it is not JSON: ..."."""


@dataclass(frozen=True)
class Prediction:
    """What the world model says of one call: what comes back, and its note on the state afterwards."""

    content: str
    is_error: bool
    state_note: str


def read_prediction(reply: ChatReply) -> Prediction:
    """Read a reply. Raises BadReply that says what is wrong with it."""
    if reply.finish_reason == "length":
        raise BadReply("it was cut off at the output limit")
    if reply.tool_calls:
        raise BadReply("it calls a tool")
    value = _parse(reply.content or "")
    if not isinstance(value, dict):
        raise BadReply("it is no JSON object")
    if set(value) != set(KEYS):
        raise BadReply(f"its keys are {_listed(value)}, and must be exactly {_listed(KEYS)}")
    for name, kind in KEYS.items():
        if not isinstance(value[name], kind):
            raise BadReply(f"its '{name}' is no {'boolean' if kind is bool else 'string'}")
    return Prediction(**value)


def _parse(text: str) -> Any:
    if not text.strip():
        raise BadReply("it is empty")
    try:
        return parse_reply(text)
    except ValueError as error:
        raise BadReply(f"it is not one JSON value: {error}") from error


def _listed(names: Any) -> str:
    return ", ".join(f"'{str(name)[:40]}'" for name in sorted(names)[:8]) or "none"
