"""A model endpoint on loopback that misbehaves in every way that endpoints do: real HTTP, for tests of all layers."""

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Plan = Any
"""(status, headers, body as bytes or JSON), or a word: see `Handler.misbehave`."""


def tool_call(name: str, arguments: Any, number: int = 0) -> dict:
    """A tool call as servers write it; `arguments` as it is to be sent, text or not."""
    return {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def reply(content: Any = None, *calls: dict, finish: str | None = "", **extra: Any) -> dict:
    """A completion. `finish` "" is the fitting one, None leaves it out."""
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **extra}
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    if finish is None:
        del choice["finish_reason"]
    return {"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def bash(command: str, number: int = 0) -> dict:
    """A completion that calls bash."""
    return reply(None, tool_call("bash", json.dumps({"command": command}), number))


def submit(answer: str = "done") -> dict:
    """A completion that submits."""
    return reply(None, tool_call("submit", json.dumps({"answer": answer})))


class Endpoint(ThreadingHTTPServer):
    """Answers request n (from 0) with plan n, the last one for ever; `plan` may also be a function of (n, body)."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, plans: tuple[Plan, ...] | Callable[[int, dict], Plan]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plans, self.lock, self.stop = plans, threading.Lock(), threading.Event()
        self.slot = threading.Lock()
        """Held by a "babble": other answers wait for it, as at a server that answers one request at a time."""
        self.requests: list[dict] = []
        self.heads: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_plan(self, body: dict, head: tuple[str, str | None]) -> Plan:
        with self.lock:
            number = len(self.requests)
            self.requests.append(body)
            self.heads.append(head)
        return self.plans(number, body) if callable(self.plans) else self.plans[min(number, len(self.plans) - 1)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        plan = self.server.next_plan(body, (self.path, self.headers.get("Authorization")))
        try:
            if isinstance(plan, str):
                self.close_connection = True
                self.misbehave(plan)
            else:
                with self.server.slot:
                    self.answer(*((200, {}, plan) if isinstance(plan, dict) else plan))
        except OSError:
            self.close_connection = True  # the client has gone

    def answer(self, status: int, headers: dict[str, str], content: Any) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def misbehave(self, how: str) -> None:
        good = json.dumps(reply("héllo ✓ 🎉"), ensure_ascii=False).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(good)}\r\n\r\n".encode()
        match how:
            case "hang":
                self.server.stop.wait(60)
            case "babble":  # until the client hangs up
                with self.server.slot:
                    while not (self.server.stop.is_set() or select.select([self.connection], [], [], 0.02)[0]):
                        pass
            case "reset":
                self.connection.shutdown(socket.SHUT_RDWR)
            case "half":  # fewer bytes than promised
                self.wfile.write(head + good[:50])
            case "half a head":
                self.wfile.write(head[:30])
            case "half without a length":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + good[:50])
            case "half a chunk":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + good[:50])
            case "drip":
                self.drip(head, good)
            case "drip of the head":
                self.drip(b"", head + good)
            case "endless chunks":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while not self.server.stop.wait(0.02):
                    self.wfile.write(b"1\r\n \r\n")
            case "split":  # every byte a packet of its own: all characters are cut
                self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for byte in good:
                    self.wfile.write(b"1\r\n" + bytes([byte]) + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")
            case "no HTTP":
                self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
            case _:
                raise AssertionError(how)

    def drip(self, at_once: bytes, slowly: bytes) -> None:
        self.wfile.write(at_once)
        for byte in slowly:
            self.wfile.write(bytes([byte]))
            if self.server.stop.wait(0.05):
                return

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def endpoint(*plans: Plan) -> Iterator[Endpoint]:
    """Serve while the context lasts; one plan may be a function of (number of the request, its body)."""
    server = Endpoint(plans[0] if len(plans) == 1 and callable(plans[0]) else plans)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


def nobody() -> str:
    """A base URL where no one listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
