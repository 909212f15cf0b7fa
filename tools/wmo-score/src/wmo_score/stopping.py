"""INT and TERM while trials run: the first signal asks for a stop, and further ones change nothing.

The default, an exception at whatever line the main thread is on, would leave children behind when it hits clean-up.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from wmo_kit.errors import Terminated


class Closable(Protocol):
    """Something whose `close` ends what another thread waits for in it."""

    def close(self) -> None:
        """End it. A second call does nothing."""
        ...


class Stop:
    """Whether, and by which signal, work was asked to stop. `event` is what running trials look at."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._signal: int | None = None
        self._lock = threading.Lock()
        self._open: list[Closable] = []

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """Note a signal (a signal handler, so it only notes)."""
        if self._signal is None:
            self._signal = number
        self.event.set()

    @contextmanager
    def closing(self, thing: Closable) -> Iterator[None]:
        """Have `thing` closed where a stop is asked for within the block, or was before it."""
        with self._lock:
            self._open.append(thing)
            if self.event.is_set():
                thing.close()
        try:
            yield
        finally:
            with self._lock:
                self._open.remove(thing)

    def close_when_asked(self) -> None:
        """Wait for the event, then close what is open (a thread of its own)."""
        self.event.wait()
        with self._lock:
            for thing in self._open:
                thing.close()

    def raise_if_asked(self) -> None:
        """Raise what the first signal stands for: KeyboardInterrupt for INT, Terminated for TERM; nothing without."""
        if self._signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self._signal == signal.SIGTERM:
            raise Terminated


@contextmanager
def deferred_signals() -> Iterator[Stop]:
    """Turn INT and TERM into a Stop within the block; on leaving it a signal that came is raised. Main thread only."""
    stop = Stop()
    closer = threading.Thread(target=stop.close_when_asked)
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    closer.start()
    try:
        yield stop
    finally:
        stop.event.set()
        closer.join()
        for number, handler in before.items():
            signal.signal(number, handler)
    stop.raise_if_asked()
