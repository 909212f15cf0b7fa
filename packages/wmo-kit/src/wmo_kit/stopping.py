"""INT, TERM and HUP while children run: the first signal asks for a stop, and further ones change nothing.

The default, an exception at whatever line the main thread is on, would leave children behind when it hits clean-up.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from wmo_kit.errors import Cancelled
from wmo_kit.signals import handle_stopping, raise_stop, restore


class Stop:
    """Whether, and by which signal, work was asked to stop. `event` is what running work looks at."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.number: int | None = None
        """The first signal; None before."""
        self._asked_at = 0.0
        self._lock = threading.Lock()
        self._actions: list[Callable[[], object]] = []

    def ask(self, number: int, _frame: FrameType | None = None) -> None:
        """Note a signal (a signal handler, so it only notes)."""
        if self.number is None:
            self.number = number
            self._asked_at = time.monotonic()
        self.event.set()

    @contextmanager
    def calling(self, action: Callable[[], object]) -> Iterator[None]:
        """Have `action`, say the `close` of a sandbox, called where a stop is asked for in the block, or was before.

        It runs in a thread of its own, or here; once.
        """
        with self._lock:
            self._actions.append(action)
            if self.event.is_set():
                action()
        try:
            yield
        finally:
            with self._lock:
                self._actions.remove(action)

    def call_when_asked(self) -> None:
        """Wait for the event, then call the actions (a thread of its own)."""
        self.event.wait()
        with self._lock:
            for action in self._actions:
                action()

    def raise_if_asked(self) -> None:
        """Raise what the first signal stands for (see signals.raise_stop); nothing where none came."""
        if self.number is not None:
            raise_stop(self.number)

    def overdue(self, grace_s: float) -> "Overdue":
        """Give a flag for work that is worth finishing: it is set `grace_s` seconds after the stop was asked for."""
        return Overdue(self, grace_s)

    def asked_for_s(self) -> float:
        """Give the seconds since the stop was asked for; 0 where it was not."""
        return 0.0 if self.number is None else time.monotonic() - self._asked_at


class Overdue:
    """Set once a stop is `grace_s` seconds old. A Flag (wmo_kit.child)."""

    def __init__(self, stop: Stop, grace_s: float) -> None:
        self._stop, self._grace_s = stop, grace_s

    def is_set(self) -> bool:
        """Say whether it is."""
        return self._stop.asked_for_s() > self._grace_s


@contextmanager
def deferred_signals() -> Iterator[Stop]:
    """Turn the signals into a Stop within the block; on leaving it, one that came is raised. Main thread only.

    Cancelled, raised in the block because of the stop, gives way to it; other errors do not.
    """
    stop = Stop()
    caller = threading.Thread(target=stop.call_when_asked)
    before = handle_stopping(stop.ask)
    caller.start()
    try:
        yield stop
    except Cancelled:
        stop.raise_if_asked()
        raise
    finally:
        stop.event.set()
        caller.join()
        if stop.number is None:
            restore(before)
    stop.raise_if_asked()
