"""INT, TERM and HUP while children run: the first signal asks for a stop, and further ones change nothing.

The default, an exception at whatever line the main thread is on, would leave children behind when it hits clean-up.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from wmo_kit.errors import Cancelled
from wmo_kit.signals import handle_stopping, raise_stop, restore


class Asked:
    """A flag that a signal handler may set, and a pipe that wakes who waits for it.

    No threading.Event: its lock may be held by the very thread that the handler interrupts, say by the handler of a
    signal just before, and then both wait for ever.
    """

    def __init__(self) -> None:
        self._set = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def set(self) -> None:
        """Set it. Safe in a signal handler."""
        self._set = True
        self.wake()

    def is_set(self) -> bool:
        """Say whether it is set."""
        return self._set

    def wake(self) -> None:
        """End the `wait`."""
        os.write(self._write, b".")

    def wait(self) -> None:
        """Wait until it is set, or woken. In one thread, once."""
        os.read(self._read, 1)

    def close(self) -> None:
        """Close the pipe; nobody may wait or set it any more."""
        os.close(self._read)
        os.close(self._write)


class Stop:
    """Whether, and by which signal, work was asked to stop. `event` is the flag that running work looks at."""

    def __init__(self) -> None:
        self.event = Asked()
        self.number: int | None = None
        """The first signal; None before."""
        self._asked_at = 0.0
        self._lock = threading.Lock()
        self._actions: list[Callable[[], object]] = []

    def ask(self, number: int, _frame: FrameType | None = None) -> None:
        """Note a signal; only the first counts. A signal handler: it takes no lock."""
        if self.number is None:
            self._asked_at, self.number = time.monotonic(), number
            self.event.set()

    @contextmanager
    def calling(self, action: Callable[[], object]) -> Iterator[None]:
        """Have `action`, say the `close` of a sandbox, called where a stop is asked for in the block, or was before.

        It runs in a thread of its own, or here, and may be called twice.
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
        """Wait for the event, then call the actions (a thread of its own). Ends as well where the event is woken."""
        self.event.wait()
        with self._lock:
            for action in self._actions if self.event.is_set() else ():
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
        stop.event.wake()
        caller.join()
        if stop.number is None:
            restore(before)
        stop.event.close()
    stop.raise_if_asked()
