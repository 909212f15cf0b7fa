import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wmo_contracts.chat import ChatReply, ToolCall
from wmo_contracts.episode import Action, EpisodeResult, Limits, Observation, Step, Usage
from wmo_episode.wire import (
    MAX_NESTING,
    BadRequest,
    completion_body,
    parse_chat,
    parse_object,
    read_reply,
    sse_body,
    sse_error,
    tool_arguments,
)

LIMITS = Limits(temperature=0.3, max_output_tokens=100)
USER = {"role": "user", "content": "hi"}
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def chat(**keys):
    return parse_chat(json.dumps({"messages": [USER], **keys}).encode(), LIMITS)


def events(body):
    return [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]


def reply(*calls, content=None, finish="tool_calls"):
    return ChatReply(
        content=content,
        tool_calls=calls,
        finish_reason=finish,
        model="m",
        usage=Usage(calls=1, prompt_tokens=7, completion_tokens=3, cached_tokens=2),
    )


def tool_call(arguments, name="bash"):
    return ToolCall(id="c1", name=name, arguments=arguments)


def test_the_documents_temperature_wins():
    assert chat(temperature=1.9).request.temperature == 0.3


@pytest.mark.parametrize(
    ("asked", "given"),
    [({}, 100), ({"max_tokens": 50}, 50), ({"max_completion_tokens": 20}, 20), ({"max_completion_tokens": 9999}, 100)],
)
def test_the_documents_output_limit_is_an_upper_bound(asked, given):
    assert chat(**asked).request.max_tokens == given


def test_messages_and_tools_pass_through_as_they_are():
    messages = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
    ]
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    call = chat(messages=messages, tools=tools, tool_choice="auto", store=False, unknown=1)
    assert list(call.request.messages) == messages
    assert list(call.request.tools) == tools
    assert call.request.tool_choice == "auto"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "object"),
        (b'{"messages": NaN}', "not JSON"),
        (b"{}", "messages"),
        (b'{"messages": {}}', "messages"),
        (b'{"messages": [1]}', "messages[0]"),
        (b'{"messages": [{"role": "robot", "content": "x"}]}', "messages[0]"),
        (b'{"messages": [{"role": "user", "content": null}]}', "messages[0].content"),
        (b'{"messages": [{"role": "user", "content": ["x"]}]}', "messages[0].content"),
        (b'{"messages": [{"role": "tool", "content": "x"}]}', "tool_call_id"),
        (b'{"messages": [{"role": "assistant", "tool_calls": [{}]}]}', "messages[0].tool_calls[0]"),
        (b'{"messages": [{"role": "assistant", "tool_calls": 1}]}', "messages[0].tool_calls"),
        (b'{"messages": [{"role": "user", "content": "x"}], "tools": [{}]}', "tools[0]"),
        (b'{"messages": [{"role": "user", "content": "x"}], "stream": 1}', "stream"),
        (b'{"messages": [{"role": "user", "content": "x"}], "stream_options": 1}', "stream_options"),
        (b'{"messages": [{"role": "user", "content": "x"}], "n": 2}', "'n'"),
        (b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": true}', "max_completion_tokens"),
        (b'{"messages": [{"role": "user", "content": "x"}], "tool_choice": 4}', "tool_choice"),
    ],
)
def test_a_bad_request_is_refused_by_name(body, names):
    with pytest.raises(BadRequest) as caught:
        parse_chat(body, LIMITS)
    assert names in str(caught.value)


@given(JSON_VALUES)
def test_any_json_is_accepted_or_refused_never_a_crash(value):
    for body in (value, {"messages": value}, {"messages": [value]}, {"messages": [USER], "tools": value}):
        try:
            call = parse_chat(json.dumps(body).encode(), LIMITS)
        except BadRequest:
            continue
        assert call.request.messages


def test_a_streamed_answer_is_a_message_an_end_and_done():
    answer = read_reply(reply(tool_call('{"command": "ls"}'), content="look"))
    first, last, done = events(sse_body(answer, 4, include_usage=False))
    assert json.loads(first) == {
        "id": "chatcmpl-4",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "wmo",
        "choices": [
            {
                "index": 0,
                "delta": {
                    "role": "assistant",
                    "content": "look",
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "bash", "arguments": '{"command": "ls"}'},
                        }
                    ],
                },
                "finish_reason": None,
            }
        ],
    }
    assert json.loads(last)["choices"] == [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    assert done == "[DONE]"


def test_usage_is_a_chunk_of_its_own_where_asked_for():
    chunks = events(sse_body(read_reply(reply(content="x", finish="stop")), 1, include_usage=True))
    usage = json.loads(chunks[2])
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == 10
    assert usage["usage"]["prompt_tokens_details"] == {"cached_tokens": 2}
    assert chunks[3] == "[DONE]"


def test_a_plain_answer_has_calls_without_an_index():
    body = completion_body(read_reply(reply(tool_call("{}"))), 1)
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"]["tool_calls"][0].keys() == {"id", "type", "function"}
    assert body["usage"]["prompt_tokens"] == 7


def test_finish_reason_agrees_with_the_message():
    assert "tool_calls" in completion_body(read_reply(reply(tool_call("{}"), finish="stop")), 1)["choices"][0].values()
    assert completion_body(read_reply(reply(content="x")), 1)["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("arguments", ["", "{", '{"command": "rm -rf /app/old', "[]", '"ls"', "null", '{"a": NaN}'])
def test_a_call_whose_arguments_are_no_object_is_withheld_with_its_whole_message(arguments):
    answer = read_reply(reply(tool_call('{"command": "ls"}'), tool_call(arguments)))
    assert answer.tool_calls == ()
    assert answer.withheld == 2
    assert completion_body(answer, 1)["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": None},
        "finish_reason": "stop",
    }


def test_a_call_in_a_message_cut_at_the_limit_is_withheld_even_if_it_parses():
    answer = read_reply(reply(tool_call('{"command": "ls"}'), finish="length"))
    assert (answer.tool_calls, answer.withheld, answer.finish_reason) == ((), 1, "length")
    assert completion_body(answer, 1)["choices"][0]["finish_reason"] == "length"


def test_a_model_failure_has_no_finish_reason_and_no_done():
    (only,) = events(sse_error("endpoint down", "provider_error"))
    assert json.loads(only)["error"]["message"] == "endpoint down"


def test_arguments_may_be_an_object_or_its_text():
    assert tool_arguments({"a": "b"}) == tool_arguments('{"a": "b"}') == {"a": "b"}


@pytest.mark.parametrize("value", ["", "{", "[]", [], None, 3, '{"a": 1, "a": 2}'])
def test_arguments_are_never_emptied(value):
    with pytest.raises(BadRequest):
        tool_arguments(value)


def nested(depth):
    return f'{{"command": "ls", "more": {"[" * depth}{"]" * depth}}}'


def test_what_is_nested_too_deep_for_the_evidence_is_not_taken():
    deepest = tool_arguments(nested(MAX_NESTING))
    step = Step(action=Action(kind="tool", name="bash", arguments=deepest), observation=Observation(content=""))
    result = EpisodeResult(task_id="t", steps=(step,), stop_reason="error", answer="", turns=1)
    assert EpisodeResult.model_validate_json(result.to_text()) == result
    for depth in (MAX_NESTING + 1, 100_000):
        with pytest.raises(BadRequest, match="nested too deep"):
            tool_arguments(nested(depth))
        with pytest.raises(BadRequest, match="nested too deep"):
            parse_object(nested(depth).encode())
        assert read_reply(reply(tool_call(nested(depth)))).withheld == 1
