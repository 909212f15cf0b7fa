"""HTTP to the shim: JSON in, JSON out, one connection a request (loopback)."""

import json
from http.client import HTTPConnection
from typing import Any


class ShimClient:
    """Calls the shim at `url` (http://HOST:PORT) with the episode's bearer token."""

    def __init__(self, url: str, token: str) -> None:
        self._address = url.removeprefix("http://")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, route: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Give status and body of the answer, which may take as long as the episode does. Raises OSError."""
        connection = HTTPConnection(self._address)
        try:
            connection.request(method, route, None if body is None else json.dumps(body), self._headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


def error_message(answer: dict[str, Any]) -> str:
    """Give the message of an error answer."""
    return str(answer["error"]["message"])
