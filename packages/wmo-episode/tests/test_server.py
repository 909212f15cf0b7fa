import http.client
import json
import socket
import threading

import pytest
from wmo_contracts.episode import Observation
from wmo_episode import server
from wmo_episode.door import on_loopback
from wmo_episode.patience import Patience
from wmo_episode.server import MAX_BODY, Shim
from wmo_episode.session import Done
from wmo_kit.errors import Transient
from wmo_models.provider import ProviderError

CHAT = {"messages": [{"role": "user", "content": "hi"}]}


class Client:
    """Speaks HTTP to a shim over one kept connection."""

    def __init__(self, shim):
        self.connection = http.client.HTTPConnection(shim.door.address, timeout=10)
        self.token = shim.door.token

    def __call__(self, method, route, body=None, headers=None):
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}"} | (headers or {})
        self.connection.request(method, route, data, headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        is_json = response.getheader("Content-Type") == "application/json"
        return response.status, json.loads(text) if is_json else text, response


@pytest.fixture
def serve(make_session):
    shims = []

    def start(provider=None, **limits):
        shims.append(Shim(make_session(provider, **limits), on_loopback()))
        return shims[-1], Client(shims[-1])

    yield start
    for shim in shims:
        shim.close(Patience(5))


def test_task_says_what_to_do(serve):
    _, ask = serve(max_turns=7, context_window=1000)
    status, body, _ = ask("GET", "/task")
    assert status == 200
    tools = body.pop("tools")
    assert body == {
        "instruction": "Do it.",
        "system": "You act.",
        "max_turns": 7,
        "max_output_tokens": 4096,
        "context_window": 1000,
        "skills": [{"name": "count-rows", "description": "counting"}],
    }
    assert [tool["name"] for tool in tools] == ["bash", "read_file", "write_file", "submit", "read_skill"]
    assert tools[0].keys() == {"name", "description", "parameters"}


def test_a_whole_episode_over_one_connection(serve, scripted, says, call):
    shim, ask = serve(scripted(says(call("bash", command="ls"))))
    assert ask("GET", "/v1/models")[1]["data"][0]["id"] == "wmo"
    status, body, _ = ask("POST", "/v1/chat/completions", CHAT)
    assert (status, body["choices"][0]["finish_reason"]) == (200, "tool_calls")
    assert ask("GET", "/signal")[1]["tool_call_turns"] == 1
    assert ask("POST", "/tool", {"name": "bash", "arguments": {"command": "ls"}})[1] == {
        "content": "ran ls",
        "is_error": False,
    }
    assert not shim.session.ended.is_set()
    assert ask("POST", "/done", {"answer": "42", "reason": "submit"})[0] == 200
    assert shim.session.ended.wait(5)
    assert shim.session.done.answer == "42"


def test_a_stream_is_sse_and_closes_its_connection(serve, scripted, says):
    _, ask = serve(scripted(says(text="hello")))
    status, text, response = ask("POST", "/v1/chat/completions", CHAT | {"stream": True})
    assert status == 200
    assert response.getheader("Content-Type") == "text/event-stream"
    assert response.getheader("Connection") == "close"
    assert text.endswith("data: [DONE]\n\n")


def test_a_model_failure_is_an_event_and_is_remembered(serve, scripted):
    shim, ask = serve(scripted(ProviderError("endpoint down", transient=True)))
    status, text, _ = ask("POST", "/v1/chat/completions", CHAT | {"stream": True})
    assert status == 200
    assert "endpoint down" in text
    assert "[DONE]" not in text
    status, body, response = ask("POST", "/v1/chat/completions", CHAT)
    assert (status, body["error"]["message"]) == (502, "endpoint down")
    assert response.getheader("x-should-retry") == "false"
    assert str(shim.session.provider_error) == "endpoint down"


@pytest.mark.parametrize("route", ["/task", "/signal", "/v1/models", "/tool", "/done", "/v1/chat/completions", "/nope"])
@pytest.mark.parametrize("given", ["", "Bearer", "Bearer x", "Basic x", "Bearer \xff"])
def test_every_route_wants_the_token(serve, route, given):
    _, ask = serve()
    for method in ("GET", "POST"):
        status, body, _ = ask(method, route, b"{}", {"Authorization": given})
        assert (status, body["error"]["message"]) == (401, "wrong or missing bearer token")


@pytest.mark.parametrize(
    ("method", "route", "body", "status", "says"),
    [
        ("GET", "/", None, 404, "no such route '/'"),
        ("GET", "/tasks", None, 404, "no such route"),
        ("POST", "/task", b"{}", 405, "'/task' does not answer POST"),
        ("GET", "/tool", None, 405, "'/tool' does not answer GET"),
        ("PUT", "/tool", b"{}", 405, "'/tool' does not answer PUT"),
        ("DELETE", "/task", None, 405, "'/task' does not answer DELETE"),
        ("BREW", "/task", None, 501, "unsupported method"),
        ("POST", "/tool", b"{", 400, "not JSON"),
        ("POST", "/tool", b"", 400, "not JSON"),
        ("POST", "/tool", b"[]", 400, "object"),
        ("POST", "/tool", {"arguments": {}}, 400, "'name'"),
        ("POST", "/done", b"nope", 400, "not JSON"),
        ("POST", "/done", {"answer": 3}, 400, "'answer'"),
        ("POST", "/v1/chat/completions", {"messages": []}, 400, "'messages'"),
    ],
)
def test_what_is_wrong_is_said_as_json(serve, method, route, body, status, says):
    shim, ask = serve()
    found, answer, _ = ask(method, route, body)
    assert found == status
    assert says in answer["error"]["message"]
    assert not shim.session.ended.is_set()


def test_too_large_is_said_before_the_body_is_kept(serve):
    _, ask = serve()
    status, body, _ = ask("POST", "/tool", b"x" * (MAX_BODY + 1))
    assert status == 413
    assert str(MAX_BODY) in body["error"]["message"]


def raw(shim, data):
    """Send bytes and give all that comes back."""
    with socket.create_connection(shim.door.address.split(":"), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /task HTTP/9.9\r\n\r\n", b"505"),
        (b"POST /tool HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"411"),
        (b"POST /tool HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"411"),
        (b"POST /tool HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", b"413"),
        (b"POST /tool HTTP/1.1\r\nContent-Length: " + b"0" * 5000 + b"\r\n\r\n", b"413"),
        (b"POST /tool HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"411"),
        (b"GET /task HTTP/1.1\r\n" + b"X-A: b\r\n" * 200 + b"\r\n", b"431"),
    ],
)
def test_what_is_no_proper_http_gets_json_too(serve, request_bytes, status):
    shim, _ = serve()
    head, _, body = raw(shim, request_bytes).partition(b"\r\n\r\n")
    assert status in head.splitlines()[0]
    assert b"application/json" in head
    assert json.loads(body)["error"]["message"]
    assert not shim.session.ended.is_set()


def test_head_is_refused_without_a_body(serve):
    shim, _ = serve()
    head, _, body = raw(
        shim, f"HEAD /task HTTP/1.1\r\nAuthorization: Bearer {shim.door.token}\r\n\r\n".encode()
    ).partition(b"\r\n\r\n")
    assert b" 405 " in head.splitlines()[0]
    assert body == b""


def test_half_a_character_is_mended_where_it_comes_in(serve):
    shim, ask = serve()
    half, whole = "\ud83d", "\ufffd"
    assert (
        ask("POST", "/tool", {"name": "bash", "arguments": {"command": f"echo {half}"}})[1]["content"]
        == f"ran echo {whole}"
    )
    as_text = json.dumps({"command": f"printf {half}"})
    assert ask("POST", "/tool", {"name": "bash", "arguments": as_text})[1]["content"] == f"ran printf {whole}"
    assert ask("POST", "/tool", {"name": half, "arguments": {half: half}})[1]["is_error"]
    ask("POST", "/done", {"answer": half, "reason": half, "note": half})
    assert shim.session.done == Done(whole, whole, whole)
    assert [step.action.name for step in shim.session.steps] == ["bash", "bash", whole]
    assert shim.session.steps[2].action.arguments == {whole: whole}


def test_a_body_that_does_not_arrive_does_not_hang_the_shim(serve, monkeypatch):
    monkeypatch.setattr(server, "BODY_WAIT_S", 0.1)
    shim, _ = serve()
    with socket.create_connection(shim.door.address.split(":"), timeout=10) as connection:
        connection.sendall(b"POST /tool HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")
        assert b"408" in connection.recv(65536)


def test_an_environment_that_breaks_is_a_500_in_json(serve, environment):
    def execute(_action):
        raise OSError("disk gone")

    environment.execute = execute
    shim, ask = serve()
    status, body, _ = ask("POST", "/tool", {"name": "bash", "arguments": {"command": "ls"}})
    assert (status, body["error"]["message"]) == (500, "the environment failed")
    assert shim.session.ended.wait(5)


def test_closing_joins_the_handler_in_progress(make_session, environment):
    inside, go_on = threading.Event(), threading.Event()

    def execute(_action):
        inside.set()
        go_on.wait(5)
        return Observation(content="written")

    environment.execute = execute
    shim = Shim(make_session(), on_loopback())
    address = shim.door.address.split(":")
    ask = Client(shim)
    answers = []
    body = {"name": "bash", "arguments": {"command": "x"}}
    asking = threading.Thread(target=lambda: answers.append(ask("POST", "/tool", body)[1]))
    asking.start()
    assert inside.wait(5)
    closing = threading.Thread(target=shim.close, args=(Patience(5.0),))
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go_on.set()
    closing.join(5)
    asking.join(5)
    assert answers == [{"content": "written", "is_error": False}]
    assert len(shim.session.steps) == 1
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)


@pytest.mark.parametrize("cut", [False, True], ids=["in time", "cut by a stop"])
def test_closing_does_not_wait_for_idle_connections_or_a_silent_model(make_session, cut):
    inside, go_on = threading.Event(), threading.Event()

    class Silent:
        def complete(self, _request):
            inside.set()
            go_on.wait(10)
            raise ProviderError("late", transient=True)

    shim = Shim(make_session(Silent()), on_loopback())
    idle, asking = Client(shim), Client(shim)
    idle("GET", "/task")
    waiting = threading.Thread(target=asking, args=("POST", "/v1/chat/completions", CHAT))
    waiting.start()
    assert inside.wait(5)
    stop = threading.Event()
    closing = threading.Thread(target=shim.close, args=(Patience(60 if cut else 0.05, stop),))
    closing.start()
    if cut:
        closing.join(0.2)
        assert closing.is_alive()
        stop.set()
    closing.join(5)
    assert not closing.is_alive()
    go_on.set()
    waiting.join(5)


def test_a_machine_with_no_room_for_a_thread_ends_the_episode_and_its_wait(serve, monkeypatch):
    """As where a fork bomb runs beside it: the connection would never be answered, and the agent would wait."""

    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    shim, ask = serve()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises((OSError, http.client.HTTPException)):
        ask("GET", "/task")
    assert shim.session.ended.wait(5)
    assert isinstance(shim.session.failure, Transient)
