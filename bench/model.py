"""Models for measuring: they answer at once, or after a fixed latency, with a fixed number of turns."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall


def scripted_reply(messages: tuple[dict[str, Any], ...], turns: int) -> ChatReply:
    """Give the next of `turns` turns: `true` in bash, and submit in the last. Which turn it is, the messages say."""
    turn = sum(message.get("role") == "assistant" for message in messages) + 1
    if turn < turns:
        call = ToolCall(id=f"call_{turn}", name="bash", arguments='{"command": "true"}')
    else:
        call = ToolCall(id=f"call_{turn}", name="submit", arguments='{"answer": "done"}')
    return ChatReply(content=None, tool_calls=(call,), finish_reason="tool_calls", model="bench")


class ZeroLatency:
    """A provider inside our own process: what is left to measure is everything but the model."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def complete(self, request: ChatRequest) -> ChatReply:
        """Answer at once."""
        return scripted_reply(request.messages, self.turns)


@contextmanager
def slow_server(turns: int, latency_s: float) -> Iterator[str]:
    """Serve the scripted model on loopback with `latency_s` seconds before each answer; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(latency_s)
            reply = scripted_reply(tuple(request["messages"]), turns)
            calls = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in reply.tool_calls
            ]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            body = json.dumps({"id": "bench", "object": "chat.completion", "created": 0, "model": "bench",
                               "choices": [choice], "usage": usage}).encode()  # fmt: skip
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode() + body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it so
            return

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
