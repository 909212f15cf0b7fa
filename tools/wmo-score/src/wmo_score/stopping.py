"""INT and TERM while trials run: the first signal asks for a stop, and further ones change nothing.

The default, an exception at whatever line the main thread is on, would leave children behind when it hits clean-up.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from wmo_kit.errors import Terminated


class Stop:
    """Whether, and by which signal, work was asked to stop. `event` is what running trials look at."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._signal: int | None = None

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """Note a signal (a signal handler)."""
        if self._signal is None:
            self._signal = number
        self.event.set()

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
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    stop.raise_if_asked()
