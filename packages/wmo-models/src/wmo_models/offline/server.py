"""The offline model over HTTP on loopback. Stateless: all it keeps is the recipes and the artificial latency."""

import json
import os
import socketserver
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wmo_models.offline.personas import MODELS, answer, models_body
from wmo_models.offline.recipe import bundled_recipes
from wmo_models.offline.request import CompletionRequest, Refused, parse_request

LOOPBACK = "127.0.0.1"
MAX_BODY_BYTES = 32 * 1024 * 1024
POLL_S = 0.05
"""How soon `serve_until_stdin_closes` notices; serve_forever looks at its stop flag this often."""


class OfflineServer(ThreadingHTTPServer):
    """The HTTP server; a thread a connection."""

    request_queue_size = 128  # score runs open many connections at once
    daemon_threads = True

    def __init__(self, port: int, latency_s: float) -> None:
        """Listen on `port` of loopback (0: any free one); every completion waits `latency_s` first. Raises OSError."""
        self.latency_s = latency_s
        self.recipes = bundled_recipes()
        super().__init__((LOOPBACK, port), _Handler)

    def server_bind(self) -> None:
        """Bind without HTTPServer's reverse DNS look-up, which can take seconds on a machine without network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://{LOOPBACK}:{self.server_port}/v1"

    @property
    def ready_line(self) -> str:
        """What tells a parent process that connections are accepted, and where: one line of JSON."""
        return json.dumps({"url": self.url})


def serve_until_stdin_closes(server: OfflineServer) -> None:
    """Serve until standard input ends: the parent holds its other end, so even its SIGKILL ends us."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        server.shutdown()

    threading.Thread(target=watch, daemon=True).start()
    server.serve_forever(POLL_S)


class _Handler(BaseHTTPRequestHandler):
    server: OfflineServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 600.0

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send(200, json.dumps(models_body()).encode())
        else:
            self._refuse(_unknown(self.path))

    def do_POST(self) -> None:
        try:
            if self.path != "/v1/chat/completions":
                raise _unknown(self.path)
            request = parse_request(self._body(), MODELS)
        except Refused as refused:
            self._refuse(refused)
            return
        self._answer(request)

    def _answer(self, request: CompletionRequest) -> None:
        time.sleep(self.server.latency_s)
        content_type = "text/event-stream" if request.stream else "application/json"
        self._send(200, answer(request, self.server.recipes), content_type)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refused(411, "a Content-Length is needed", "length_required")
        if int(length) > MAX_BODY_BYTES:
            raise Refused(413, f"the body is larger than {MAX_BODY_BYTES} bytes", "too_large")
        return self.rfile.read(int(length))

    def _refuse(self, refused: Refused) -> None:
        self.close_connection = True  # its body may be unread
        self._send(refused.status, json.dumps(refused.body).encode())

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        """Write head and body at once: a second small packet would wait for the first one's delayed ACK (40 ms)."""
        head = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(body)}",
            f"Connection: {'close' if self.close_connection else 'keep-alive'}",
        ]
        try:
            self.wfile.write("\r\n".join([*head, "", ""]).encode() + body)
        except ConnectionError:  # the client has gone; nobody is left to tell
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Say nothing: a request is nothing that a person needs to read."""


def _unknown(path: str) -> Refused:
    return Refused(404, f"unknown route '{path}'", "not_found")
