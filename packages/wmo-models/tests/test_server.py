"""The offline server over its own wire: OpenAI's shapes, honest errors, and no state."""

import json
import random
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
import requests
from openai import NotFoundError, OpenAI
from wmo_models.offline.recipe import bundled_recipes
from wmo_models.offline.server import MAX_BODY_BYTES, OfflineServer

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("bash", "read_file", "write_file", "submit")
]
CURE = "Every reply must contain a tool call."


@contextmanager
def serving() -> Iterator[str]:
    with OfflineServer(0, 0.0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as address:
        yield address


def instruction(weakness: str) -> str:
    return next(recipe.match for recipe in bundled_recipes() if recipe.weakness == weakness)


def request(weakness: str = "none", **more) -> dict:
    messages = [{"role": "system", "content": CURE}, {"role": "user", "content": instruction(weakness)}]
    return {"model": "offline-worker", "messages": messages, "tools": TOOLS, **more}


def post(url: str, body: bytes | dict) -> requests.Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return requests.post(f"{url}/chat/completions", data=data, timeout=10)


def test_every_model_says_that_it_is_a_simulation(url):
    models = requests.get(f"{url}/models", timeout=10).json()["data"]
    assert [model["id"] for model in models] == [
        "offline-judge",
        "offline-optimizer",
        "offline-worker",
        "offline-world",
    ]
    assert all("simulation" in model["owned_by"] for model in models)


def test_the_official_client_gets_a_tool_call(url):
    with OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        completion = client.chat.completions.create(**request())
    (call,) = completion.choices[0].message.tool_calls
    assert (call.id, call.function.name, completion.choices[0].finish_reason) == ("call_1", "bash", "tool_calls")
    assert json.loads(call.function.arguments)["command"]
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens > 0


def test_the_official_client_streams_the_same(url):
    with OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        plain = client.chat.completions.create(**request())
        options = {"include_usage": True}
        chunks = list(client.chat.completions.create(**request(), stream=True, stream_options=options))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    (call,) = (call for delta in deltas for call in delta.tool_calls or ())
    assert call.function.arguments == plain.choices[0].message.tool_calls[0].function.arguments
    assert (call.index, call.id) == (0, "call_1")
    assert "".join(delta.content or "" for delta in deltas) == plain.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices] == [None, "tool_calls"]
    assert chunks[-1].usage == plain.usage


def test_usage_is_streamed_only_where_asked_for(url):
    text = post(url, request(stream=True)).text
    assert "usage" not in text
    assert text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("key", ["max_tokens", "max_completion_tokens"])
def test_the_output_limit_cuts_a_call_in_mid_text(url, key):
    reply = post(url, request(**{key: 270})).json()["choices"][0]
    assert reply["finish_reason"] == "length"
    assert reply["message"]["tool_calls"][0]["function"]["arguments"].startswith('{"command": "')
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(reply["message"]["tool_calls"][0]["function"]["arguments"])


def test_a_bad_model_is_a_not_found_error_of_the_official_client(url):
    with OpenAI(base_url=url, api_key="none", max_retries=0) as client, pytest.raises(NotFoundError) as caught:
        client.chat.completions.create(model="gpt-17", messages=[{"role": "user", "content": "x"}])
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "JSON object"),
        ({"messages": []}, "'model'"),
        ({"model": "offline-worker"}, "'messages'"),
        ({"model": "offline-worker", "messages": []}, "'messages'"),
        ({"model": "offline-worker", "messages": ["x"]}, "'messages'"),
        ({"model": "offline-worker", "messages": [{"content": "x"}]}, "'messages[0].role'"),
        (request(max_tokens=0), "'max_tokens'"),
        (request(max_tokens=True), "'max_tokens'"),
        (request(max_tokens="many"), "'max_tokens'"),
        (request(temperature=3), "'temperature'"),
        (request(tools=[{"type": "function"}]), "tool"),
        (request(tools={"bash": {}}), "'tools'"),
        ({**request(), "messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]}, "'messages[0].tool_calls'"),
    ],
)
def test_bad_requests_get_openais_error_object(url, body, words):
    response = post(url, body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert words in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "message", [{"role": "user"}, {"role": "user", "content": None}, {"role": "user", "content": 5}]
)
def test_odd_contents_count_as_no_text(url, message):
    assert post(url, {"model": "offline-worker", "messages": [message]}).status_code == 200


def test_unknown_routes_and_sizes_are_refused(url):
    base = url.removesuffix("/v1")
    assert requests.get(f"{base}/nowhere", timeout=10).status_code == 404
    assert requests.post(f"{base}/v1/completions", data=b"{}", timeout=10).status_code == 404
    host, port = base.removeprefix("http://").split(":")
    for length, status in ((b"", b"411"), (b"Content-Length: %d\r\n" % (MAX_BODY_BYTES + 1), b"413")):
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n")
            assert raw.recv(4096).split()[1] == status


def conversations() -> list[dict]:
    """Requests of many kinds: each bundled task, limits, temperatures, both models, streamed and not."""
    kinds = [{}, {"max_tokens": 400}, {"temperature": 1.9}, {"stream": True}]
    weaknesses = sorted({recipe.weakness for recipe in bundled_recipes()})
    bodies = [request(weakness, **kind) for weakness in weaknesses for kind in kinds]
    return bodies + [{**body, "model": "offline-optimizer"} for body in bodies]


def test_a_reply_depends_on_the_request_alone():
    """The same bytes from two servers, asked in different orders, several times, by many threads."""
    bodies = conversations()
    shuffled = list(enumerate(bodies)) * 3
    random.Random(1).shuffle(shuffled)
    with ExitStack() as stack:
        one, other = stack.enter_context(serving()), stack.enter_context(serving())
        straight = [post(one, body).content for body in bodies]
        pool = stack.enter_context(ThreadPoolExecutor(8))
        mixed = list(pool.map(lambda item: (item[0], post(other, item[1]).content), shuffled))
    assert all(content == straight[index] for index, content in mixed)
    assert len(set(straight)) > 6
