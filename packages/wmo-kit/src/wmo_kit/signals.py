"""The signals that end a tool (Ctrl-C, TERM, the terminal's end), and the exception that each becomes."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from wmo_kit.errors import Terminated

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object]


def handle_stopping(handler: Handler) -> dict[int, Any]:
    """Have `handler` called for each of them; gives the handlers before, for `restore`. Main thread only.

    A HUP that is ignored stays so: that is how nohup asks a program to outlive its terminal. They are unblocked: who
    becomes us by exec blocks them meanwhile, so that none ends us unheard.
    """
    handled = [number for number in STOPPING if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before: dict[int, Any] = {number: signal.signal(number, handler) for number in handled}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
    return before


def restore(before: dict[int, Any]) -> None:
    """Bring back the handlers that `handle_stopping` gave."""
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def shielded() -> Iterator[None]:
    """Keep the signals back within the block; on leaving it, the first that came has its effect.

    For the lines that start a process and take hold of it: an exception amid them would lose it, alive. Signals come to
    the main thread only, so in any other this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = handle_stopping(lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        restore(before)
        if came:
            signal.raise_signal(came[0])


def raise_stop(number: int, _frame: FrameType | None = None) -> NoReturn:
    """Raise KeyboardInterrupt for INT, Terminated for the others; from now on all of them are ignored.

    Itself a handler. A second Ctrl-C must not cut the clean-up that the first one began.
    """
    for other in STOPPING:
        signal.signal(other, _pass)  # not SIG_IGN: Python complains aloud of one that has come already
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _pass(_number: int, _frame: FrameType | None) -> None:
    pass
