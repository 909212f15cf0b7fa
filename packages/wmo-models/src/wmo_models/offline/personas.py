"""From a request to its answer: which persona speaks, and the body that goes back. Pure: no state, no clock."""

import json
from typing import Any

from wmo_models.offline.conversation import Conversation, read_conversation
from wmo_models.offline.judge import next_move as judge_move
from wmo_models.offline.optimizer import next_move as optimizer_move
from wmo_models.offline.recipe import Recipe
from wmo_models.offline.reply import Move, Reply, utter
from wmo_models.offline.request import CompletionRequest
from wmo_models.offline.text_tools import FORM_TOKENS, as_function_calls, tools_in_text
from wmo_models.offline.tokens import count_json_tokens
from wmo_models.offline.worker import next_move as worker_move
from wmo_models.offline.world import next_move as world_move

WORKER = "offline-worker"
OPTIMIZER = "offline-optimizer"
JUDGE = "offline-judge"
WORLD = "offline-world"
MODELS = frozenset({WORKER, OPTIMIZER, JUDGE, WORLD})


def answer(request: CompletionRequest, recipes: tuple[Recipe, ...]) -> bytes:
    """Give the body of the answer to `request`: a completion, or its whole event stream."""
    described = tools_in_text(request.messages) if request.model == WORKER and not request.tools else frozenset()
    conversation = read_conversation(as_function_calls(request.messages) if described else request.messages)
    move = _move(request, conversation, described, recipes)
    reply = utter(move, request.max_tokens, request.temperature, in_text=bool(described))
    message = _message(reply, conversation.call_count)
    usage = _usage(request, reply)
    if request.stream:
        return _stream(request, message, reply.finish_reason, usage)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason, "logprobs": None}
    completion = {**_head(request, "chat.completion"), "choices": [choice], "usage": usage}
    return json.dumps(completion).encode()


def models_body() -> dict[str, Any]:
    """Give the answer to GET /v1/models. Every entry says that it is a simulation."""
    return {"object": "list", "data": [_model(name) for name in sorted(MODELS)]}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "wmo (simulation)", "simulated": True}


def _move(
    request: CompletionRequest, conversation: Conversation, described: frozenset[str], recipes: tuple[Recipe, ...]
) -> Move:
    """Give the persona's move; `described` are tools that only the prompt describes, whose calls cost a little more."""
    if described:
        room = None if request.max_tokens is None else max(1, request.max_tokens - FORM_TOKENS)
        return worker_move(conversation, described, room, recipes)
    if request.model == WORKER:
        return worker_move(conversation, request.tools, request.max_tokens, recipes)
    if request.model == JUDGE:
        return judge_move(conversation)
    if request.model == WORLD:
        return world_move(conversation)
    return optimizer_move(conversation, request.tools)


def _message(reply: Reply, call_count: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool is not None:
        function = {"name": reply.tool, "arguments": reply.arguments}
        message["tool_calls"] = [{"id": f"call_{call_count + 1}", "type": "function", "function": function}]
    return message


def _usage(request: CompletionRequest, reply: Reply) -> dict[str, Any]:
    prompt = count_json_tokens(request.messages) + count_json_tokens(request.tool_specs)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": prompt + reply.completion_tokens,
    }


def _head(request: CompletionRequest, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-offline", "object": kind, "created": 0, "model": request.model}


def _stream(request: CompletionRequest, message: dict[str, Any], finish_reason: str, usage: dict[str, Any]) -> bytes:
    delta = dict(message)
    if "tool_calls" in message:
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(message["tool_calls"])]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]},
    ]
    if request.include_usage:
        chunks.append({"choices": [], "usage": usage})
    head = _head(request, "chat.completion.chunk")
    events = [json.dumps({**head, **chunk}) for chunk in chunks] + ["[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()
