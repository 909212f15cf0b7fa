"""A deadline for a whole HTTP exchange, kept from beside it: by ending its connection."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class Deadline:
    """Ends the exchange of this thread at a moment, in whatever state it is.

    requests' timeouts bound the gap between two packets; an endpoint that sends a byte now and then would never end.
    """

    def __init__(self, within_s: float) -> None:
        self.passed = False
        self.connection: HTTPConnection | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(within_s, self._pass)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        _local.deadline = self
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        _local.deadline = None
        with self._lock:
            self.connection = None

    def _pass(self) -> None:
        with self._lock:
            self.passed = True
            sock = getattr(self.connection, "sock", None)
            if sock is not None:
                with contextlib.suppress(OSError):  # it may be gone already
                    # the plain socket's method: TLS's own would take the stream away under the reading thread
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)


_local = threading.local()
"""The `deadline` of the exchange that the thread is in: no argument of requests reaches the connection."""


@contextmanager
def _bounded(connection: HTTPConnection) -> Iterator[None]:
    """Let the thread's deadline end `connection`; one that passed while there was no socket yet raises TimeoutError."""
    deadline: Deadline | None = getattr(_local, "deadline", None)
    if deadline is not None:
        deadline.connection = connection
    yield
    if deadline is not None and deadline.passed:
        raise TimeoutError("the deadline passed")


class _Connection(HTTPConnection):
    def connect(self) -> None:
        with _bounded(self):
            super().connect()

    def request(self, *arguments: Any, **options: Any) -> None:
        with _bounded(self):
            super().request(*arguments, **options)


class _TLSConnection(_Connection, HTTPSConnection):
    """The same over TLS: HTTPSConnection is an HTTPConnection, so _Connection's super() is it."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class BoundedAdapter(HTTPAdapter):
    """Makes connections that a deadline can end."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """As HTTPAdapter's."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """As HTTPAdapter's."""
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
        return manager
