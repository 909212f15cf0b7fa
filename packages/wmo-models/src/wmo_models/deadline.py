"""A deadline for a whole HTTP exchange, and hanging up before it: both from beside it, by ending its connection."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class HungUp(Exception):
    """The exchange was ended because nobody wants its answer any more. No failure of the endpoint's."""


class HangUp:
    """Ends, from another thread, the exchanges of the threads that are in its `covering` block, and forbids more.

    An endpoint that answers one request at a time would else go on with one that nobody waits for.
    """

    def __init__(self) -> None:
        self.asked = False
        self._lock = threading.Lock()
        self._exchanges: set[Deadline] = set()

    @contextmanager
    def covering(self) -> Iterator[None]:
        """Have what this thread exchanges in the block ended by `ask`: it then raises HungUp."""
        token = _hang_up.set(self)
        try:
            yield
        finally:
            _hang_up.reset(token)

    def ask(self) -> None:
        """Hang up, for good."""
        with self._lock:
            self.asked = True
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.end()

    def add(self, exchange: "Deadline") -> None:
        """Take charge of an exchange that begins. Raises HungUp."""
        with self._lock:
            if self.asked:
                raise HungUp
            self._exchanges.add(exchange)

    def remove(self, exchange: "Deadline") -> None:
        """Let go of an exchange that is over."""
        with self._lock:
            self._exchanges.discard(exchange)


_hang_up: ContextVar[HangUp | None] = ContextVar("hang_up", default=None)
"""No argument of Provider.complete, as with trouble.listening."""


class Deadline:
    """Ends the exchange of this thread at a moment, in whatever state it is.

    requests' timeouts bound the gap between two packets; an endpoint that sends a byte now and then would never end.
    """

    def __init__(self, within_s: float) -> None:
        self.passed = False
        self.connection: HTTPConnection | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(within_s, self.end)
        self._timer.daemon = True
        self._hang_up = _hang_up.get()

    def __enter__(self) -> Self:
        """Begin. Raises HungUp where nothing more is to be exchanged."""
        if self._hang_up is not None:
            self._hang_up.add(self)
        _local.deadline = self
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._hang_up is not None:
            self._hang_up.remove(self)
        _local.deadline = None
        with self._lock:
            self.connection = None

    @property
    def hung_up(self) -> bool:
        """Whether the exchange was ended by hanging up."""
        return self._hang_up is not None and self._hang_up.asked

    def end(self) -> None:
        """End the exchange now. From any thread."""
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
