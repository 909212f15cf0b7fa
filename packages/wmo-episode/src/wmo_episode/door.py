"""Where an agent finds its shim."""

import secrets
import socket
from dataclasses import dataclass, field

BACKLOG = 64
TOKEN_BYTES = 24


def new_token() -> str:
    """Give a bearer token that cannot be guessed."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class Door:
    """A listening socket, to be served by a Shim, and the bearer token that it asks for."""

    listener: socket.socket
    token: str = field(default_factory=new_token)

    @property
    def address(self) -> str:
        """The address as the agent has it, host:port; in a box it is the box's own loopback."""
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        """The same as a URL."""
        return f"http://{self.address}"


def on_loopback(port: int = 0) -> Door:
    """Open a door on this machine's loopback; `port` 0 takes a free one. Raises OSError."""
    return Door(socket.create_server(("127.0.0.1", port), backlog=BACKLOG))
