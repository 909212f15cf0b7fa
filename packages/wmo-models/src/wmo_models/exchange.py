"""The OpenAI chat wire from the client's side: requests to JSON, responses to replies or typed failures. Pure."""

import json
from typing import Any

from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Usage

from wmo_models.provider import ProviderError

TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which the same request may succeed (design 6)."""
EXCERPT = 300
"""How many characters of an endpoint's own message a failure quotes."""


def limit_key(host: str) -> str:
    """Give the name of the output limit at `host`: OpenAI's newer models refuse the older name, most others need it."""
    return "max_completion_tokens" if host.endswith("openai.com") else "max_tokens"


def request_body(request: ChatRequest, model: str, limit: str) -> dict[str, Any]:
    """Give the JSON body of a completion request, not streamed; what the request leaves open is left out.

    `limit` is the name that the endpoint gives the output limit.
    """
    body: dict[str, Any] = {"model": model, "messages": list(request.messages)}
    if request.tools:
        body["tools"] = list(request.tools)
        if request.tool_choice is not None:
            body["tool_choice"] = request.tool_choice
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[limit] = request.max_tokens
    return body


def read_response(status: int, body: bytes) -> ChatReply:
    """Give the reply that a response holds.

    Raises ProviderError: transient for TRANSIENT_STATUSES and for an error object with such a code; not for other
    error statuses and for anything that is no completion. The message is one line with the endpoint's own words.
    """
    value = _parse(body)
    if status != 200:
        raise ProviderError(
            f"the endpoint answered {status}: {_own_message(value, body)}", transient=status in TRANSIENT_STATUSES
        )
    if isinstance(value, dict) and value.get("error"):
        raise ProviderError(
            f"the endpoint answered with an error: {_own_message(value, body)}",
            transient=_code(value) in TRANSIENT_STATUSES,
        )
    if not isinstance(value, dict):
        raise _malformed("it is no JSON object", body)
    try:
        return _reply(value)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _malformed(f"it holds no valid choice ({error})", body) from error


def _reply(value: dict[str, Any]) -> ChatReply:
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("'choices' is missing or empty")
    message = choices[0]["message"]
    calls = tuple(_tool_call(call, index) for index, call in enumerate(message.get("tool_calls") or ()))
    return ChatReply(
        content=_content(message.get("content")),
        tool_calls=calls,
        finish_reason=str(choices[0].get("finish_reason") or ("tool_calls" if calls else "stop")),
        model=str(value.get("model") or ""),
        usage=_usage(value.get("usage")),
    )


def _content(content: Any) -> str:
    """Give the text; a message may have none (only tool calls, only reasoning), and some servers send typed parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    if content is None or isinstance(content, str):
        return content or ""
    raise ValueError("'content' is no text")


def _tool_call(raw: dict[str, Any], index: int) -> ToolCall:
    """Arguments stay as they were written, valid or not; some servers send an object instead of text, or no id."""
    function = raw["function"]
    arguments = function.get("arguments") or ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(raw.get("id") or f"call_{index}"), name=str(function["name"]), arguments=arguments)


def _usage(raw: Any) -> Usage:
    usage = raw if isinstance(raw, dict) else {}
    details = usage.get("prompt_tokens_details")
    return Usage(
        calls=1,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _own_message(value: Any, body: bytes) -> str:
    """Find the endpoint's words in the shapes that servers use: {"error": {"message"}}, {"error"}, {"message"}."""
    error = value.get("error", value) if isinstance(value, dict) else None
    words = error.get("message") if isinstance(error, dict) else error
    return _one_line(str(words)) if words else _one_line(body.decode("utf-8", "replace")) or "(an empty body)"


def _code(value: dict[str, Any]) -> int:
    error = value["error"]
    code = str(error.get("code") if isinstance(error, dict) else "")
    return int(code) if code.isdecimal() else 0


def _malformed(what: str, body: bytes) -> ProviderError:
    start = _one_line(body.decode("utf-8", "replace")) or "(an empty body)"
    return ProviderError(f"the endpoint's answer is no chat completion: {what}; it starts: {start}", transient=False)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[:EXCERPT] + "..."
