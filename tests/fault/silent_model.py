"""A model endpoint that asks for one tool call, and then never answers again."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARK = "so far"
"""What the tool call prints."""


@contextmanager
def silent_model() -> Iterator[tuple[str, threading.Event]]:
    """Give its base URL, and the event that it has been asked for its second answer."""
    asked, over = threading.Event(), threading.Event()
    function = {"name": "bash", "arguments": json.dumps({"command": f"echo {MARK}"})}
    call = {"id": "c", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reply = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if MARK.encode() in self.rfile.read(int(self.headers["Content-Length"])):
                asked.set()
                over.wait(120)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        over.set()
        server.shutdown()
        server.server_close()
