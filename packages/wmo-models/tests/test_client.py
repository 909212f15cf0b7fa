"""The client against a real loopback server that misbehaves in every way that endpoints do."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from wmo_contracts.chat import ChatRequest
from wmo_kit.config import Endpoint
from wmo_kit.errors import Conflict
from wmo_models.client import OpenAIClient, RetryPolicy
from wmo_models.exchange import limit_key, request_body
from wmo_models.provider import ProviderError

KEY = "sk-very-secret"
QUICK = RetryPolicy(attempts=4, connect_s=1, attempt_s=0.3, total_s=5, wait_first_s=0.001, wait_cap_s=0.01)
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


class Faults(ThreadingHTTPServer):
    """Answers request n with the n-th plan, the last one for ever. A plan: (status, headers, body) or a word."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, plans):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plans, self.seen, self.lock = plans, [], threading.Lock()
        self.stop = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            plan = self.server.plans[min(len(self.server.seen), len(self.server.plans) - 1)]
            self.server.seen.append((self.path, self.headers.get("Authorization"), body))
        if plan == "hang":
            self.server.stop.wait(20)
        elif plan == "reset":
            self.connection.shutdown(socket.SHUT_RDWR)
        elif plan == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + json.dumps(GOOD).encode())
        elif plan == "trickle":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not self.server.stop.wait(0.05):
                self.wfile.write(b"1\r\n \r\n")
        else:
            status, headers, content = plan
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            return
        self.close_connection = True

    def log_message(self, *args):
        pass


@contextmanager
def faulty(*plans, policy=QUICK, key=KEY) -> Iterator[tuple[OpenAIClient, Faults]]:
    server = Faults(plans)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    client = OpenAIClient(Endpoint(base_url=server.url, model="m"), key, policy)
    try:
        yield client, server
    finally:
        client.close()
        server.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


def failure(client: OpenAIClient) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        client.complete(REQUEST)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


OK = (200, {}, GOOD)


def test_a_reply_comes_back_whole():
    with faulty(OK) as (client, server):
        reply = client.complete(REQUEST)
    assert (reply.content, reply.finish_reason, reply.model) == ("", "tool_calls", "m-1")
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [("a", "bash", '{"command": "ls"}')]
    assert reply.usage.model_dump() == {
        "calls": 1, "prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4,
    }  # fmt: skip
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "temperature": 0.5, "max_tokens": 100}
    assert server.seen == [("/v1/chat/completions", f"Bearer {KEY}", body)]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_transient_statuses_are_tried_again(status):
    with faulty((status, {}, {"error": {"message": "busy"}}), OK) as (client, server):
        assert client.complete(REQUEST).model == "m-1"
        assert len(server.seen) == 2


@pytest.mark.parametrize("plan", ["hang", "reset", "half", "trickle"])
def test_broken_connections_and_timeouts_are_tried_again(plan):
    with faulty(plan, OK) as (client, server):
        assert client.complete(REQUEST).model == "m-1"
        assert len(server.seen) == 2


def test_retry_after_is_obeyed():
    slow = RetryPolicy(attempts=3, total_s=5, wait_first_s=100, wait_cap_s=100)
    with faulty((429, {"Retry-After": "0"}, {}), OK, policy=slow) as (client, _):
        assert client.complete(REQUEST).model == "m-1"


def test_a_retry_after_beyond_the_time_left_ends_the_tries_at_once():
    with faulty((429, {"Retry-After": "3600"}, {"error": {"message": "slow down"}})) as (client, server):
        error = failure(client)
        assert (error.transient, error.code, len(server.seen)) == (True, 75, 1)
        assert "slow down" in str(error)


def test_tries_are_bounded():
    with faulty((500, {}, b"")) as (client, server):
        error = failure(client)
        assert (error.transient, error.code, len(server.seen)) == (True, 75, QUICK.attempts)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_the_callers_own_mistakes_are_raised_at_once_in_the_endpoints_words(status):
    words = f"This is wrong with key {KEY}.\nSecond line."
    with faulty((status, {}, {"error": {"message": words, "code": "context_length_exceeded"}})) as (client, server):
        error = failure(client)
        assert (error.transient, error.code, len(server.seen)) == (False, 69, 1)
        assert f"answered {status}: This is wrong with key [key]. Second line." in str(error)


def test_a_redirect_is_no_answer():
    with faulty((302, {"Location": "http://127.0.0.1:1/"}, b"")) as (client, server):
        assert "answered 302" in str(failure(client))
        assert len(server.seen) == 1


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
        assert (error.transient, len(server.seen)) == (False, 1)
        assert len(str(error)) < 600


def test_a_transient_error_object_in_a_200_is_tried_again():
    with faulty((200, {}, {"error": {"message": "overloaded", "code": 503}}), OK) as (client, server):
        assert client.complete(REQUEST).model == "m-1"
        assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"reasoning_content": "thinking only"}, ""),
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
    ],
)
def test_odd_but_usable_messages_are_tolerated(message, content):
    with faulty((200, {}, {"choices": [{"message": message}]})) as (client, _):
        reply = client.complete(REQUEST)
    assert (reply.content, reply.finish_reason, reply.usage.prompt_tokens) == (content, "stop", 0)


def test_odd_tool_calls_are_tolerated():
    call = {"function": {"name": "bash", "arguments": {"command": "ls"}}}
    with faulty((200, {}, {"choices": [{"message": {"tool_calls": [call]}}]})) as (client, _):
        reply = client.complete(REQUEST)
    assert [(found.id, found.arguments) for found in reply.tool_calls] == [("call_0", '{"command": "ls"}')]
    assert reply.finish_reason == "tool_calls"


def test_nobody_there_is_transient_and_names_the_endpoint():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        error = failure(OpenAIClient(Endpoint(base_url=url, model="m"), KEY, QUICK))
    assert error.transient
    assert url in str(error)


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
    assert server.seen[0][1] is None


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
        assert len(server.seen) == 65
