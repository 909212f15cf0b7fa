"""The OpenAI chat wire from the client's side: requests to JSON, responses to replies or typed failures. Pure."""

import json
from typing import Any

from wmo_contracts.base import mend_json
from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Usage

from wmo_models.overflow import is_overflow
from wmo_models.trouble import Cause

TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529, *range(520, 525)})
"""HTTP statuses after which the same request may succeed: design 6's, and Cloudflare's of a server behind it."""
TRANSIENT_WORDS = frozenset({
    "rate_limit_exceeded", "rate_limit_error", "overloaded_error", "server_error", "api_error", "internal_server_error",
    "timeout_error", "service_unavailable", "unavailable", "resource_exhausted",
})  # fmt: skip
"""What servers write as an error's type or code where they send no such status."""
FINISH_REASONS = {
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "model_length": "length",
    "incomplete": "length",
    "stop": "stop", "end": "stop", "eos": "stop", "eos_token": "stop", "end_turn": "stop", "stop_sequence": "stop",
    "tool_calls": "tool_calls", "tool_use": "tool_calls", "function_call": "tool_calls",
}  # fmt: skip
"""OpenAI's word for what other servers (Anthropic, Gemini, Mistral, Text Generation Inference) call otherwise."""
EXCERPT = 300
"""How many characters of an endpoint's own message a failure quotes."""


class Refused(Exception):
    """A response that holds no reply; the message is one line with the endpoint's own words.

    `status` is the HTTP status, or the one that an error object in a 200 names; 0 where there is none.
    """

    def __init__(self, message: str, cause: Cause, *, transient: bool, status: int = 0) -> None:
        super().__init__(message)
        self.cause, self.transient, self.status = cause, transient, status


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

    Raises Refused: transient for TRANSIENT_STATUSES, for an error object that names one of them or TRANSIENT_WORDS, and
    for JSON that breaks off; not for other error statuses, context overflow, and anything else that is no completion.
    """
    value = _parse(body)
    if status != 200:
        raise _refusal(f"the endpoint answered {status}", status, status, value, body)
    if isinstance(value, dict) and (error := value.get("error") or _choice_error(value)):
        wrapped = {"error": error}
        raise _refusal("the endpoint answered with an error", status, _code(error), wrapped, body)
    if not isinstance(value, dict):
        if body.lstrip()[:1] == b"{":
            raise Refused("the answer broke off in the middle of its JSON", "connection", transient=True)
        raise _malformed("it is no JSON object", body)
    try:
        return _reply(value)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _malformed(f"it holds no valid choice ({_one_line(str(error))})", body) from error


def _refusal(said: str, status: int, code: int, value: Any, body: bytes) -> Refused:
    words = _own_message(value, body)
    names = _names(value)
    if is_overflow(status if status != 200 else code or 200, " ".join([words, *names])):
        return Refused(f"the context is full, {said}: {words}", "overflow", transient=False, status=code)
    transient = code in TRANSIENT_STATUSES or (status == 200 and not TRANSIENT_WORDS.isdisjoint(names))
    if not transient:
        return Refused(f"{said}: {words}", "refused", transient=False, status=code)
    limited = code == 429 or any("rate_limit" in name for name in names)
    return Refused(f"{said}: {words}", "rate_limit" if limited else "server", transient=True, status=code)


def _reply(value: dict[str, Any]) -> ChatReply:
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("'choices' is missing or empty")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise ValueError("its first choice has no message")
    calls = tuple(_tool_call(call, index) for index, call in enumerate(message.get("tool_calls") or ()))
    return ChatReply(
        content=_content(message.get("content")),
        tool_calls=calls,
        finish_reason=_finish_reason(choices[0].get("finish_reason"), bool(calls)),
        model=str(value.get("model") or ""),
        refusal=str(message.get("refusal") or ""),
        usage=_usage(value.get("usage")),
    )


def _finish_reason(word: Any, calls: bool) -> str:
    """Give OpenAI's word. Where there is none the message is whole: it came as one JSON value."""
    return FINISH_REASONS.get(str(word).lower(), str(word)) if word else "tool_calls" if calls else "stop"


def _content(content: Any) -> str:
    """Give the text; a message may have none (only tool calls, only reasoning), and some servers send typed parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    if content is None or isinstance(content, str):
        return content or ""
    raise ValueError("'content' is no text")


def _tool_call(raw: dict[str, Any], index: int) -> ToolCall:
    """Arguments stay as they were written, valid or not; some servers send an object instead of text, or no id."""
    function = raw["function"]
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(raw.get("id") or f"call_{index}"), name=str(function.get("name") or ""), arguments=arguments)


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
        return json.loads(mend_json(body.decode("utf-8-sig", "replace")))
    except (ValueError, RecursionError):
        return None


def _choice_error(value: dict[str, Any]) -> Any:
    """Give the error of the first choice: OpenRouter puts there what failed behind it."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first.get("error") if isinstance(first, dict) else None


def _own_message(value: Any, body: bytes) -> str:
    """Find the endpoint's words in the shapes that servers use: {"error": {"message"}}, {"error"}, {"message"}..."""
    error = value.get("error", value) if isinstance(value, dict) else None
    words = (error.get("message") or error.get("detail")) if isinstance(error, dict) else error
    return _one_line(str(words)) if words else _one_line(body.decode("utf-8", "replace")) or "(an empty body)"


def _names(value: Any) -> list[str]:
    """Give an error's type, code and status where they are words, in lower case."""
    error = value.get("error", value) if isinstance(value, dict) else None
    named = [error.get(key) for key in ("type", "code", "status")] if isinstance(error, dict) else []
    return [name.lower() for name in named if isinstance(name, str)]


def _code(error: Any) -> int:
    code = str(error.get("code") if isinstance(error, dict) else "")
    return int(code) if code.isascii() and code.isdecimal() and len(code) == 3 else 0


def _malformed(what: str, body: bytes) -> Refused:
    start = _one_line(body.decode("utf-8", "replace")) or "(an empty body)"
    return Refused(
        f"the endpoint's answer is no chat completion: {what}; it starts: {start}", "malformed", transient=False
    )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[:EXCERPT] + "..."
