"""The client against a real loopback server that misbehaves in every way that endpoints do."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from faulty_endpoint import Endpoint as Faults
from faulty_endpoint import endpoint, nobody, reply, tool_call
from wmo_contracts.chat import ChatRequest
from wmo_contracts.episode import Usage
from wmo_kit.config import Endpoint
from wmo_kit.errors import Conflict
from wmo_models.client import EndpointFailed, OpenAIClient, RetryPolicy, retry_after
from wmo_models.exchange import limit_key, request_body
from wmo_models.transport import MAX_BODY_BYTES

KEY = "sk-very-secret"
QUICK = RetryPolicy(attempts=4, connect_s=5, total_s=10, wait_first_s=0.001, wait_cap_s=0.01)
TRY_S = 1.0
REQUEST = ChatRequest(messages=({"role": "user", "content": "hello"},), temperature=0.5, max_tokens=100)
GOOD = {
    "model": "m-1",
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
}


@contextmanager
def faulty(*plans, policy=QUICK, key=KEY, tell=None) -> Iterator[tuple[OpenAIClient, Faults]]:
    with endpoint(*plans) as server:
        client = OpenAIClient(Endpoint(base_url=server.url, model="m", timeout_s=TRY_S), key, policy, tell=tell)
        try:
            yield client, server
        finally:
            client.close()


def failure(client: OpenAIClient, request: ChatRequest = REQUEST) -> EndpointFailed:
    with pytest.raises(EndpointFailed) as caught:
        client.complete(request)
    for ugly in (KEY, "\n", "HTTPConnectionPool", "object at 0x", "Errno", "Caused by"):
        assert ugly not in str(caught.value)
    return caught.value


OK = (200, {}, GOOD)


def test_a_reply_comes_back_whole():
    with faulty(OK) as (client, server):
        reply = client.complete(REQUEST)
    assert (reply.content, reply.finish_reason, reply.model) == ("", "tool_calls", "m-1")
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [("a", "bash", '{"command": "ls"}')]
    assert reply.usage == Usage(calls=1, prompt_tokens=10, completion_tokens=5, cached_tokens=4)
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "temperature": 0.5, "max_tokens": 100}
    assert (server.heads, server.requests) == ([("/v1/chat/completions", f"Bearer {KEY}")], [body])


def test_a_reply_that_repeats_the_key_is_given_without_it():
    said = f"your headers: Authorization: Bearer {KEY}"
    body = reply(said, tool_call("bash", json.dumps({"command": f"echo {KEY}"})))
    body["choices"][0]["message"]["refusal"] = f"not with {KEY}"
    body["model"] = f"m-{KEY}"
    text = json.dumps(body).replace("sk-very", "\\u0073k-very")  # an escape hides nothing
    with faulty((200, {}, text.encode())) as (client, _):
        got = client.complete(REQUEST)
    assert KEY not in got.model_dump_json()
    assert (got.content, got.refusal, got.model) == (
        "your headers: Authorization: Bearer [key]", "not with [key]", "m-[key]")  # fmt: skip
    assert got.tool_calls[0].arguments == '{"command": "echo [key]"}'


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_transient_statuses_are_tried_again(status):
    with faulty((status, {}, {"error": {"message": "busy"}}), OK) as (client, server):
        assert client.complete(REQUEST).model == "m-1"
        assert len(server.requests) == 2


BROKEN = [
    ("hang", "timeout", "no answer within 1 s"),
    ("drip", "timeout", "the answer was not complete within 1 s"),
    ("drip of the head", "timeout", "the answer was not complete within 1 s"),
    ("endless chunks", "timeout", "the answer was not complete within 1 s"),
    ("reset", "connection", "the connection broke off before an answer: the endpoint closed the connection"),
    ("half", "connection", "the answer broke off: the endpoint closed the connection"),
    ("half a head", "connection", "the answer broke off: the endpoint closed the connection"),
    ("half without a length", "connection", "the answer broke off in the middle of its JSON"),
    ("half a chunk", "connection", "the answer broke off: the endpoint closed the connection"),
    ("no HTTP", "connection", "the connection broke off before an answer: the answer is no HTTP"),
]


@pytest.mark.parametrize(("plan", "cause", "words"), BROKEN)
def test_broken_connections_and_timeouts_are_tried_again_and_told_in_one_line(plan, cause, words):
    told = []
    with faulty(plan, OK, tell=told.append) as (client, server):
        assert client.complete(REQUEST).model == "m-1"
        assert len(server.requests) == 2
    (trouble,) = told
    assert (trouble.cause, trouble.message) == (cause, f"model 'm' at '{server.url}': {words}")
    assert trouble.next_step.startswith("try 2 of 4 in 0.0")


@pytest.mark.parametrize("plan", ["hang", "drip", "drip of the head", "endless chunks"])
def test_the_total_time_is_bounded_whatever_comes(plan):
    policy = RetryPolicy(attempts=100, total_s=1.5, wait_first_s=0.001, wait_cap_s=0.01)
    with faulty(plan, policy=policy) as (client, server):
        started = time.monotonic()
        error = failure(client)
        assert time.monotonic() - started < 20
    assert (error.transient, error.cause) == (True, "timeout")
    assert len(server.requests) <= 4


def test_characters_that_are_cut_between_packets_come_back_whole():
    with faulty("split") as (client, _):
        assert client.complete(REQUEST).content == "héllo ✓ 🎉"


def test_a_tool_call_of_100_kb_comes_back_whole():
    text = '{"command": "' + "é" * 50_000 + '"}'
    with faulty(reply(None, tool_call("bash", text))) as (client, _):
        assert client.complete(REQUEST).tool_calls[0].arguments == text


def test_an_answer_without_end_is_no_answer(monkeypatch):
    monkeypatch.setattr("wmo_models.transport.MAX_BODY_BYTES", 1 << 20)
    assert MAX_BODY_BYTES >= 1 << 20
    with faulty((200, {}, b" " * (2 << 20))) as (client, server):
        error = failure(client)
    assert "the answer is longer than 1 MiB" in str(error)
    assert (error.transient, len(server.requests)) == (False, 1)


def test_retry_after_is_obeyed():
    slow = RetryPolicy(attempts=3, total_s=5, wait_first_s=100, wait_cap_s=100)
    told = []
    with faulty((429, {"Retry-After": "0"}, {}), OK, policy=slow, tell=told.append) as (client, _):
        assert client.complete(REQUEST).model == "m-1"
    assert [(trouble.cause, trouble.wait_s) for trouble in told] == [("rate_limit", 0.0)]


NOW = 1_000_000_000.0  # Sun, 09 Sep 2001 01:46:40 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "30", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Sun, 09 Sep 2001 01:47:10 GMT"}, 30),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:00 GMT"}, 0),
        # by the endpoint's own clock, which is an hour behind ours
        ({"retry-after": "Sun, 09 Sep 2001 00:46:50 GMT", "date": "Sun, 09 Sep 2001 00:46:40 GMT"}, 10),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:50 GMT", "date": "today"}, 10),
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Sun, 99 Sep 2001 01:46:00 GMT"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_and_as_a_date(headers, seconds):
    assert retry_after(headers, NOW) == seconds


def test_a_date_in_the_future_is_waited_for():
    later = {"Date": "Sun, 09 Sep 2001 01:46:40 GMT", "Retry-After": "Sun, 09 Sep 2001 02:46:40 GMT"}
    with faulty((429, later, {"error": {"message": "slow down"}})) as (client, server):
        error = failure(client)
    assert (error.retry_after_s, error.transient, len(server.requests)) == (3600, True, 1)


def test_a_retry_after_beyond_the_time_left_ends_the_tries_at_once():
    with faulty((429, {"Retry-After": "3600"}, {"error": {"message": "slow down"}})) as (client, server):
        error = failure(client)
        assert (error.transient, error.code, len(server.requests)) == (True, 75, 1)
        assert "slow down" in str(error)


def test_tries_are_bounded():
    with faulty((500, {}, b"")) as (client, server):
        error = failure(client)
        assert (error.transient, error.code, len(server.requests)) == (True, 75, QUICK.attempts)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_the_callers_own_mistakes_are_raised_at_once_in_the_endpoints_words(status):
    words = f"This is wrong with key {KEY}.\nSecond line."
    with faulty((status, {}, {"error": {"message": words, "code": "wrong"}})) as (client, server):
        error = failure(client)
        assert (error.transient, error.code, len(server.requests)) == (False, 69, 1)
        assert f"answered {status}: This is wrong with key [key]. Second line." in str(error)


def test_a_redirect_is_no_answer():
    with faulty((302, {"Location": "http://127.0.0.1:1/"}, b"")) as (client, server):
        assert "answered 302" in str(failure(client))
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>\n<title>Welcome to the gateway</title>", "no JSON object; it starts: <html> <title>Welcome"),
        (b"", "(an empty body)"),
        (b'{"choices": []}', "'choices' is missing or empty"),
        (b'{"object": "list"}', "'choices' is missing or empty"),
        (b'{"choices": [{"text": "x"}]}', "no valid choice"),
        (b'{"choices": [{"message": null}]}', "no valid choice"),
        (b'{"choices": [{"message": {"content": 3}}]}', "'content' is no text"),
        (b'{"choices": [{"message": {"tool_calls": [{"id": "x"}]}}]}', "no valid choice"),
        (b'{"error": {"message": "no such model", "code": 404}}', "answered with an error: no such model"),
        (b'{"error": "out of credit"}', "answered with an error: out of credit"),
        (b"[" * 100_000, "no JSON object"),
        (b"\xff\xfe\x00", "no JSON object"),
    ],
)
def test_malformed_replies_are_one_clear_line(body, words):
    with faulty((200, {}, body)) as (client, server):
        error = failure(client)
        assert words in str(error)
        assert (error.transient, len(server.requests)) == (False, 1)
        assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"reasoning_content": "thinking only"}, ""),
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": None}]}, ""),
        ({"content": "a", "tool_calls": None}, "a"),
    ],
)
def test_odd_but_usable_messages_are_tolerated(message, content):
    with faulty((200, {}, {"choices": [{"message": message}]})) as (client, _):
        reply = client.complete(REQUEST)
    assert (reply.content, reply.finish_reason, reply.usage.prompt_tokens) == (content, "stop", 0)


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ({"command": "ls"}, '{"command": "ls"}'),
        ({}, "{}"),
        ('{"command": "l', '{"command": "l'),
        ("", ""),
        (None, ""),
        ('"{}"', '"{}"'),
    ],
)
def test_a_calls_arguments_stay_as_they_were_written(sent, arguments):
    call = {"function": {"name": "bash", "arguments": sent}}
    with faulty((200, {}, {"choices": [{"message": {"tool_calls": [call]}}]})) as (client, _):
        answer = client.complete(REQUEST)
    assert [(found.id, found.arguments) for found in answer.tool_calls] == [("call_0", arguments)]
    assert answer.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("length", "length"), ("max_tokens", "length"), ("MAX_TOKENS", "length"), ("model_length", "length"),
     ("end_turn", "stop"), ("eos_token", "stop"), ("STOP", "stop"), ("tool_use", "tool_calls"),
     ("content_filter", "content_filter"), (None, "stop"), ("", "stop")],
)  # fmt: skip
def test_other_servers_words_for_the_end_are_understood(word, meaning):
    with faulty((200, {}, {"choices": [{"message": {"content": "x"}, "finish_reason": word}]})) as (client, _):
        assert client.complete(REQUEST).finish_reason == meaning


def test_nobody_there_is_transient_and_one_clear_line():
    url = nobody()
    error = failure(OpenAIClient(Endpoint(base_url=url, model="m"), KEY, QUICK))
    assert (error.transient, str(error)) == (True, f"cannot connect to '{url}': connection refused")


def test_a_host_that_does_not_exist_is_named():
    error = failure(OpenAIClient(Endpoint(base_url="http://no-such-host.invalid/v1", model="m"), "", QUICK))
    assert error.transient
    assert str(error).startswith("cannot connect to 'http://no-such-host.invalid/v1': ")


def test_https_to_a_server_without_it_is_not_tried_again():
    with endpoint(OK) as server:
        url = server.url.replace("http", "https")
        error = failure(OpenAIClient(Endpoint(base_url=url, model="m", timeout_s=2), KEY, QUICK))
    assert (error.transient, str(error)) == (False, f"cannot connect to '{url}': it speaks no TLS; is it 'http://'?")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ({"message": "busy", "code": 503}, "server"),
        ({"message": "busy", "code": "429"}, "rate_limit"),
        ({"message": "busy", "code": "rate_limit_exceeded"}, "rate_limit"),
        ({"message": "busy", "type": "overloaded_error"}, "server"),
        ({"message": "busy", "status": "UNAVAILABLE"}, "server"),
    ],
)
def test_an_error_object_in_a_200_is_tried_again_where_it_says_so(error, cause):
    told = []
    in_choice = {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": error}]}
    for body in ({"error": error}, in_choice):
        with faulty((200, {}, body), OK, tell=told.append) as (client, _):
            assert client.complete(REQUEST).model == "m-1"
    assert [trouble.cause for trouble in told] == [cause, cause]


@pytest.mark.parametrize(
    "url",
    ["no-scheme/v1", "ftp://example.org/v1", "http://[bad/v1", "https://", "", "https://x/v1?a=b", "https://x/#f"],
)
def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(Conflict, match="base URL"):
        OpenAIClient(Endpoint(base_url=url, model="m"), KEY)


def test_a_password_in_a_base_url_is_refused_and_not_repeated():
    with pytest.raises(Conflict, match="unusable: it holds a user") as caught:
        OpenAIClient(Endpoint(base_url=f"https://me:{KEY}@example.org/v1", model="m"), KEY)
    assert KEY not in str(caught.value)


def test_no_key_sends_no_header():
    with faulty(OK, key="") as (client, server):
        client.complete(REQUEST)
    assert server.heads[0][1] is None


@pytest.mark.parametrize("key", ["line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_by_its_variables_name(key):
    with pytest.raises(Conflict, match="WMO_API_KEY") as caught:
        OpenAIClient(Endpoint(base_url="http://x/v1", model="m"), key)
    assert key not in str(caught.value)


def test_openai_itself_is_given_the_limit_under_its_newer_name():
    assert request_body(REQUEST, "m", limit_key("api.openai.com"))["max_completion_tokens"] == 100
    assert request_body(REQUEST, "m", limit_key("127.0.0.1"))["max_tokens"] == 100


def test_threads_share_a_client():
    with faulty((503, {}, {}), OK, policy=RetryPolicy(attempts=4, total_s=30, wait_first_s=0.01)) as (client, server):
        with ThreadPoolExecutor(32) as pool:
            models = list(pool.map(lambda _: client.complete(REQUEST).model, range(64)))
        assert models == ["m-1"] * 64
        assert len(server.requests) == 65


def test_a_reply_has_its_cost_where_its_endpoint_has_prices():
    with endpoint(OK) as server:
        priced = Endpoint(base_url=server.url, model="m", price_in=2.0, price_out=10.0, price_cached=0.5)
        for one, cost in ((priced, (6 * 2 + 4 * 0.5 + 5 * 10) / 1e6), (Endpoint(base_url=server.url, model="m"), None)):
            client = OpenAIClient(one, KEY, QUICK)
            assert client.complete(REQUEST).usage.cost == cost
            client.close()
