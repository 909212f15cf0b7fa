"""What goes over the shim's wire: OpenAI chat requests in; SSE, completions and errors out (design 5). Pure.

Every body is a whole: the server writes it once, because small split writes cost a delayed ACK (40 ms) each.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from wmo_contracts.base import mend_json, parse_text
from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Limits, Usage

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
MAX_NESTING = 64
"""Lists and objects inside one another: the evidence could not be written above 250, nor read above 190."""
MODEL_NAME = "wmo"
"""The one model the shim offers; which model answers is the episode's configuration, not the agent's choice."""


class BadRequest(ValueError):
    """A request body that is malformed; the message says where and becomes the 400 body."""


@dataclass(frozen=True)
class ChatCall:
    """A validated completion request: what the provider is asked, and how the caller wants its answer."""

    request: ChatRequest
    stream: bool
    include_usage: bool


@dataclass(frozen=True)
class Answer:
    """What the agent is told of one reply. `finish_reason` is the provider's own word.

    `tool_calls` are those the agent may execute; `withheld` counts those it must not: the whole message is withheld
    where it was cut at the output limit or where any call has no name or arguments that are no JSON object.
    """

    content: str | None
    tool_calls: tuple[ToolCall, ...]
    withheld: int
    finish_reason: str
    usage: Usage


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a request body that must be a JSON object. Raises BadRequest."""
    try:
        value = _parse(body.decode())
    except ValueError as error:  # UnicodeDecodeError is one
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadRequest("the body must be a JSON object")
    return value


def parse_chat(body: bytes, limits: Limits) -> ChatCall:
    """Validate a chat completion request and apply the episode's limits.

    The document's temperature always wins, and its max_output_tokens is the upper bound of what the agent asks for.
    Keys that the shim does not know are ignored, as servers do. Raises BadRequest.
    """
    body_object = parse_object(body)
    messages = _list(body_object, "messages")
    if not messages:
        raise BadRequest("'messages' must not be empty")
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]")
    tools = _list(body_object, "tools")
    for index, tool in enumerate(tools):
        _check_function(tool, f"tools[{index}]")
    if body_object.get("n") not in (None, 1):
        raise BadRequest("'n' must be 1")
    options = body_object.get("stream_options") or {}
    if not isinstance(options, dict):
        raise BadRequest("'stream_options' must be an object")
    try:
        request = ChatRequest(
            messages=tuple(messages),
            tools=tuple(tools),
            tool_choice=body_object.get("tool_choice"),
            temperature=limits.temperature,
            max_tokens=_max_tokens(body_object, limits),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"'{first['loc'][0]}': {first['msg'].lower()}") from error
    return ChatCall(request, _flag(body_object, "stream"), _flag(options, "include_usage"))


def read_reply(reply: ChatReply) -> Answer:
    """Decide which tool calls of a reply the agent may execute.

    pi parses partial JSON leniently, so a call cut in the middle would run half a command: it never reaches pi.
    """
    cut = reply.finish_reason == "length"
    bad = cut or not all(call.name and is_json_object(call.arguments) for call in reply.tool_calls)
    withheld = len(reply.tool_calls) if bad else 0
    calls = () if withheld else reply.tool_calls
    return Answer(reply.content, calls, withheld, reply.finish_reason, reply.usage)


def is_json_object(text: str) -> bool:
    """Say whether `text` is one whole JSON object."""
    try:
        return isinstance(_parse(text), dict)
    except ValueError:
        return False


def sse_body(answer: Answer, number: int, *, include_usage: bool) -> bytes:
    """Give the whole event stream of completion `number`: the message, its end, usage where asked for, [DONE]."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": _message(answer, indexed=True), "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}]},
    ]
    if include_usage:
        chunks.append({"choices": [], "usage": _usage(answer.usage)})
    head = _head(number, "chat.completion.chunk")
    return b"".join(_event(json.dumps({**head, **chunk})) for chunk in chunks) + _event("[DONE]")


def sse_error(message: str, kind: str) -> bytes:
    """Give the event stream of a model failure. It has no finish reason, so no client takes it for an answer."""
    return _event(json.dumps(error_object(message, kind)))


def completion_body(answer: Answer, number: int) -> dict[str, Any]:
    """Give completion `number` as a plain, unstreamed answer."""
    choice = {"index": 0, "message": _message(answer, indexed=False), "finish_reason": _finish_reason(answer)}
    return {**_head(number, "chat.completion"), "choices": [choice], "usage": _usage(answer.usage)}


def models_body() -> dict[str, Any]:
    """Give the answer to GET /v1/models."""
    return {"object": "list", "data": [{"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "wmo"}]}


def error_object(message: str, kind: str) -> dict[str, Any]:
    """Give an error body in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def tool_arguments(value: Any) -> dict[str, Any]:
    """Give a tool call's arguments, decoding a JSON string. Raises BadRequest; never empties what it cannot read."""
    if isinstance(value, str):
        try:
            value = _parse(value)
        except ValueError as error:
            raise BadRequest(f"arguments are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadRequest("arguments must be a JSON object")
    return value


def _parse(text: str) -> Any:
    """Parse what an agent or a model wrote, half characters mended. Raises ValueError, also for what is nested deep."""
    try:
        value = parse_text(mend_json(text))
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    level, depth = [value], 0
    while level := [item for outer in level for item in _inside(outer)]:
        depth += 1
        if depth > MAX_NESTING:
            raise ValueError("nested too deep")
    return value


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _head(number: int, kind: str) -> dict[str, Any]:
    """No clock and no random id: a transcript must be equal between two runs."""
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": MODEL_NAME}


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _message(answer: Answer, *, indexed: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.content}
    if answer.tool_calls:
        message["tool_calls"] = [
            ({"index": index} if indexed else {})
            | {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for index, call in enumerate(answer.tool_calls)
        ]
    return message


def _finish_reason(answer: Answer) -> str:
    """Tell the agent a reason that agrees with the message: some providers say "stop" and send tool calls."""
    if answer.tool_calls:
        return "tool_calls"
    return "stop" if answer.finish_reason in ("tool_calls", "function_call") else answer.finish_reason


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _list(body: dict[str, Any], key: str) -> list[Any]:
    value = body.get(key, [])
    if not isinstance(value, list):
        raise BadRequest(f"'{key}' must be a list")
    return value


def _flag(body: dict[str, Any], key: str) -> bool:
    value = body.get(key)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"'{key}' must be true or false")
    return value is True


def _max_tokens(body: dict[str, Any], limits: Limits) -> int:
    asked: list[int] = [body[key] for key in ("max_completion_tokens", "max_tokens") if body.get(key) is not None]
    for value in asked:
        if type(value) is not int or value < 1:
            raise BadRequest("'max_completion_tokens' must be an integer of 1 or more")
    return min([*asked, limits.max_output_tokens])


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise BadRequest(f"'{where}' must be an object with a role: {', '.join(sorted(ROLES))}")
    role, content = message["role"], message.get("content")
    if isinstance(content, list):
        if not all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content):
            raise BadRequest(f"'{where}.content' must be text or a list of typed parts")
    elif not isinstance(content, str) and (content is not None or role != "assistant"):
        raise BadRequest(f"'{where}.content' must be text or a list of typed parts")
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise BadRequest(f"'{where}' needs a tool_call_id")
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise BadRequest(f"'{where}.tool_calls' must be a list")
    for index, call in enumerate(calls):
        _check_function(call, f"{where}.tool_calls[{index}]")


def _check_function(value: Any, where: str) -> None:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise BadRequest(f"'{where}' must be an object with a named function")
