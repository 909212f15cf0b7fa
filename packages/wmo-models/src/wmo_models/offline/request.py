"""What comes in over the offline server's wire: validation of OpenAI chat completion requests. Pure."""

import json
from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """A request that the server does not answer: an HTTP status and OpenAI's error object."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


@dataclass(frozen=True)
class CompletionRequest:
    """A valid request. `tools` are the names on offer; None stands for a limit or temperature that was not given."""

    model: str
    messages: tuple[dict[str, Any], ...]
    tool_specs: tuple[dict[str, Any], ...]
    tools: frozenset[str]
    max_tokens: int | None
    temperature: float | None
    stream: bool
    include_usage: bool


def parse_request(body: bytes, models: frozenset[str]) -> CompletionRequest:
    """Parse a chat completion request to one of `models`. Raises Refused with the status 400 or 404."""
    raw = _json_object(body)
    model = raw.get("model")
    if not isinstance(model, str):
        raise _bad("'model' must be a string")
    if model not in models:
        known = ", ".join(sorted(models))
        raise Refused(404, f"the model '{model}' does not exist here; there are: {known}", "model_not_found")
    specs = _objects(raw, "tools", required=False)
    options = raw.get("stream_options") or {}
    return CompletionRequest(
        model,
        _messages(raw),
        specs,
        frozenset(_tool_name(spec) for spec in specs),
        _limit(raw),
        _temperature(raw),
        raw.get("stream") is True,
        isinstance(options, dict) and options.get("include_usage") is True,
    )


def _bad(message: str) -> Refused:
    return Refused(400, message, "invalid_request")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _bad(f"the body is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise _bad("the body must be a JSON object")
    return raw


def _objects(raw: dict[str, Any], key: str, *, required: bool) -> tuple[dict[str, Any], ...]:
    values = raw.get(key)
    if values is None and not required:
        return ()
    if not isinstance(values, list) or (required and not values) or not all(isinstance(item, dict) for item in values):
        raise _bad(f"'{key}' must be a list of objects")
    return tuple(values)


def _messages(raw: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    messages = _objects(raw, "messages", required=True)
    for index, message in enumerate(messages):
        if message.get("role") not in ("system", "developer", "user", "assistant", "tool"):
            raise _bad(f"'messages[{index}].role' must be system, developer, user, assistant or tool")
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(_is_function(call) for call in calls):
            raise _bad(f"'messages[{index}].tool_calls' must be a list of function calls")
    return messages


def _is_function(value: Any) -> bool:
    function = value.get("function") if isinstance(value, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _tool_name(spec: dict[str, Any]) -> str:
    if not _is_function(spec):
        raise _bad("every tool must be a function with a name")
    return str(spec["function"]["name"])


def _limit(raw: dict[str, Any]) -> int | None:
    limit = raw.get("max_completion_tokens", raw.get("max_tokens"))
    if limit is not None and (type(limit) is not int or limit < 1):
        raise _bad("'max_tokens' must be a positive integer")
    return limit


def _temperature(raw: dict[str, Any]) -> float | None:
    value = raw.get("temperature")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise _bad("'temperature' must be a number from 0 to 2")
    return float(value)
