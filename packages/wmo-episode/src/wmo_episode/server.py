"""The shim: one episode's HTTP server. Every answer is JSON or SSE, written once, never a traceback."""

import contextlib
import hmac
import json
import socket
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import Any, cast

from wmo_kit.errors import Transient
from wmo_models.provider import ProviderError

from wmo_episode.door import Door
from wmo_episode.patience import Patience
from wmo_episode.session import BudgetSpent, Done, HostFailed, Session
from wmo_episode.wire import (
    BadRequest,
    completion_body,
    error_object,
    models_body,
    parse_chat,
    parse_object,
    sse_body,
    sse_error,
)

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a request body; a conversation of 20 turns of capped output is far below."""
MAX_CONNECTIONS = 64
"""At a time, each of which takes a thread of ours. pi has two; what a candidate opens beyond is closed unheard."""
LARGE_BODY = 1024 * 1024
"""Requests above it are answered one at a time: their bodies, and what is parsed of them, are memory of ours."""
LENGTH_DIGITS = 18
"""A longer Content-Length is too large, whatever it says; int() itself refuses 4,300 digits."""
BODY_WAIT_S = 30.0
"""How long a request's body may take. An idle connection may stay: closing it could cut off the next request."""
JSON_TYPE = "application/json"
SSE_TYPE = "text/event-stream"


class Shim:
    """Serves a Session from its construction until `close`."""

    def __init__(self, session: Session, door: Door) -> None:
        """`door` is where the agent is told to knock; its socket is closed with the shim."""
        self.session, self.door = session, door
        self._lock = threading.Lock()
        self.large = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._acceptor = threading.Thread(target=self._accept, name="shim", daemon=True)
        self._acceptor.start()

    def close(self, patience: Patience) -> None:
        """Stop serving: nothing new starts, an action in progress ends (Session.close), every handler is joined.

        Where one still waits for the model after `patience`, the model is hung up on. One that waits for its next try
        is left behind: it finds that there is none.
        """
        self.door.listener.shutdown(socket.SHUT_RDWR)  # wakes accept(); close() alone does not
        self._acceptor.join()
        self.door.listener.close()
        self.session.close(patience)
        with self._lock:
            handlers = list(self._open.items())
        for connection, _ in handlers:
            _stop_reading(connection)
        for _, thread in handlers:
            patience.wait(partial(_ended, thread))
        self.session.hang_up()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self.door.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._handle, args=(connection, address), name="shim", daemon=True)
            with self._lock:
                if len(self._open) >= MAX_CONNECTIONS:
                    connection.close()
                    continue
                self._open[connection] = thread
            self._start(thread, connection)

    def _start(self, thread: threading.Thread, connection: socket.socket) -> None:
        """Start a connection's handler. With no room for one the episode ends: it would wait for it."""
        try:
            thread.start()
        except RuntimeError as error:
            with self._lock:
                del self._open[connection]
            connection.close()
            self.session.fail(Transient(f"cannot serve the agent: {error}"))

    def _handle(self, connection: socket.socket, address: Any) -> None:
        try:
            _Handler(connection, address, self)
        except OSError:
            pass  # the agent hung up; what it did not read is its own loss
        except Exception as error:  # noqa: BLE001  kept and raised again by the runtime, in the episode's own thread
            self.session.fail(error)
        finally:
            with self._lock:
                del self._open[connection]
            connection.close()


def _ended(thread: threading.Thread, within_s: float) -> bool:
    thread.join(within_s)
    return not thread.is_alive()


def _stop_reading(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be gone already
        connection.shutdown(socket.SHUT_RD)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, connection: socket.socket, address: Any, shim: Shim) -> None:
        self.shim = shim
        super().__init__(connection, address, cast("BaseServer", shim))  # it only keeps its third argument

    def do_GET(self) -> None:
        """Answer a GET."""
        self._serve()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._serve()

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = do_POST  # noqa: N815  known, and answered by no route

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name
        """Say nothing: stderr belongs to the tool."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that http.server itself could not read, as JSON too."""
        self.close_connection = True
        self._send(code, error_object((message or HTTPStatus(code).phrase).lower(), "bad_request"))

    def _serve(self) -> None:
        length = self.headers.get("Content-Length", "0")
        small = len(length) <= LENGTH_DIGITS and length.isascii() and length.isdigit() and int(length) <= LARGE_BODY
        with nullcontext() if small else self.shim.large:
            self._answer()

    def _answer(self) -> None:
        try:
            body = self._read_body()
        except TimeoutError:
            self.send_error(408, "the request body did not arrive")
            return
        if body is None:
            return
        if not self._authorised():
            self._refuse(401, "wrong or missing bearer token")
            return
        methods = _ROUTES.get(self.path.partition("?")[0])
        if methods is None:
            self._refuse(404, f"no such route '{self.path}'")
            return
        route = methods.get(self.command)
        if route is None:
            self._refuse(405, f"'{self.path}' does not answer {self.command}")
            return
        try:
            route(self, body)
        except (ValueError, RecursionError) as error:  # mostly BadRequest; no odd body may end the episode as our bug
            self._refuse(400, str(error))
        except HostFailed as error:
            self._refuse(500, str(error))

    def _read_body(self) -> bytes | None:
        """Read the body by its Content-Length, None where the request was refused for it."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self.send_error(411, "send a body with a Content-Length")
            return None
        self.connection.settimeout(BODY_WAIT_S)
        if len(length) > LENGTH_DIGITS or int(length) > MAX_BODY:
            self._discard(int(length[:LENGTH_DIGITS]))
            self.send_error(413, f"the body is larger than {MAX_BODY} bytes")
            return None
        body = self.rfile.read(int(length))
        self.connection.settimeout(None)
        return body

    def _discard(self, length: int) -> None:
        """Read on for a while: a client that is still sending would see a reset instead of the answer."""
        left = min(length, 4 * MAX_BODY)
        while left > 0 and (chunk := self.rfile.read(min(left, 1 << 20))):
            left -= len(chunk)

    def _authorised(self) -> bool:
        given = self.headers.get("Authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {self.shim.door.token}".encode())

    def _task(self, _body: bytes) -> None:
        self._send(200, self.shim.session.task())

    def _signal(self, _body: bytes) -> None:
        self._send(200, self.shim.session.signal())

    def _models(self, _body: bytes) -> None:
        self._send(200, models_body())

    def _complete(self, body: bytes) -> None:
        call = parse_chat(body, self.shim.session.brief.limits)
        self.close_connection = True
        try:
            answer, number = self.shim.session.complete(call.request)
        except ProviderError as error:
            self._fail(error, stream=call.stream)
            return
        except BudgetSpent as error:
            self._send(429, error_object(str(error), "budget"), {"x-should-retry": "false"})
            return
        if call.stream:
            self._write(200, SSE_TYPE, sse_body(answer, number, include_usage=call.include_usage))
        else:
            self._send(200, completion_body(answer, number))

    def _fail(self, error: ProviderError, *, stream: bool) -> None:
        """Answer as model servers do, and in a way that no client tries again: the next answer would be the same."""
        kind = "invalid_request_error" if error.fault == "request" else "provider_error"
        if stream:
            self._write(200, SSE_TYPE, sse_error(str(error), kind))
        else:
            status = 400 if error.fault == "request" else 502
            self._send(status, error_object(str(error), kind), {"x-should-retry": "false"})

    def _tool(self, body: bytes) -> None:
        call = parse_object(body)
        name = call.get("name")
        if not isinstance(name, str):
            raise BadRequest("'name' must be a string")
        observation = self.shim.session.act(name, call.get("arguments"))
        self._send(200, {"content": observation.content, "is_error": observation.is_error})

    def _done(self, body: bytes) -> None:
        word = parse_object(body)
        values = [word.get(key, "") for key in ("answer", "reason", "note")]
        if not all(isinstance(value, str) for value in values):
            raise BadRequest("'answer', 'reason' and 'note' must be strings")
        self.shim.session.finish(Done(*values))
        self._send(200, {"ok": True})
        self.shim.session.ended.set()  # after the answer: the runtime may end the agent at once

    def _refuse(self, code: int, message: str) -> None:
        self._send(code, error_object(message, "invalid_request_error"))

    def _send(self, code: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._write(code, JSON_TYPE, json.dumps(value).encode(), headers)

    def _write(self, code: int, content_type: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Write head and body in one call: two small writes would wait for a delayed ACK in between."""
        lines = [
            f"HTTP/1.1 {code} {HTTPStatus(code).phrase}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(body)}",
            f"Connection: {'close' if self.close_connection else 'keep-alive'}",
            *(f"{key}: {value}" for key, value in (headers or {}).items()),
        ]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + (b"" if self.command == "HEAD" else body))


_Route = Callable[[_Handler, bytes], None]
_ROUTES: dict[str, dict[str, _Route]] = {
    "/task": {"GET": _Handler._task},
    "/signal": {"GET": _Handler._signal},
    "/tool": {"POST": _Handler._tool},
    "/done": {"POST": _Handler._done},
    "/v1/models": {"GET": _Handler._models},
    "/v1/chat/completions": {"POST": _Handler._complete},
}
