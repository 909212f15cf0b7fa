"""No conversation, however odd, makes a persona fail: it answers, or the request is refused with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wmo_models.offline.personas import MODELS, answer
from wmo_models.offline.recipe import bundled_recipes
from wmo_models.offline.request import Refused, parse_request

RECIPES = bundled_recipes()
TEXTS = (
    st.sampled_from([recipe.match for recipe in RECIPES] + ["Read REQUEST.md", "", "\ud800", "x" * 9000]) | st.text()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.fixed_dictionaries(
    {"id": st.sampled_from(["call_1", "call_2"]) | JSON},
    optional={
        "function": st.fixed_dictionaries(
            {"name": st.sampled_from(["bash", "submit", "read_skill", "nothing"])},
            optional={"arguments": st.sampled_from(['{"command": "ls"}', "{", "[]", "[" * 5000]) | JSON},
        )
    },
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"])},
    optional={
        "content": TEXTS | JSON | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": JSON}), max_size=2),
        "tool_calls": st.lists(CALLS, max_size=2) | JSON,
        "tool_call_id": st.sampled_from(["call_1", "call_2"]) | JSON,
    },
)
NAMES = ("bash", "read_file", "write_file", "submit", "read_skill")
TOOLS = st.lists(st.sampled_from([{"type": "function", "function": {"name": name}} for name in NAMES]), max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)),
    st.lists(MESSAGES, min_size=1, max_size=5),
    TOOLS,
    st.none() | st.integers(1, 9000),
    st.none() | st.floats(0, 2),
    st.booleans(),
)
def test_any_conversation_is_answered_or_refused(model, messages, tools, max_tokens, temperature, stream):
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "tools": tools,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "stream": stream,
    }
    data = json.dumps(body).encode()
    try:
        request = parse_request(data, MODELS)
    except Refused as refused:
        assert refused.body["error"]["message"]
        return
    reply = answer(request, RECIPES)
    assert reply == answer(parse_request(data, MODELS), RECIPES)
    if not stream:
        choice = json.loads(reply)["choices"][0]
        assert choice["finish_reason"] in ("stop", "tool_calls", "length")
        assert max_tokens is None or json.loads(reply)["usage"]["completion_tokens"] <= max_tokens


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_limit_below_the_thinking_leaves_nothing(model):
    body = {"model": model, "messages": [{"role": "user", "content": "Read REQUEST.md"}], "max_tokens": 200}
    choice = json.loads(answer(parse_request(json.dumps(body).encode(), MODELS), RECIPES))["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", "")
