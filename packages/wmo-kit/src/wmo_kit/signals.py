"""The signals that end a tool (Ctrl-C, TERM, the terminal's end), and the exception that each becomes."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from wmo_kit.errors import Terminated

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object]


def handle_stopping(handler: Handler) -> dict[int, Any]:
    """Have `handler` called for each of them; gives the handlers before, for `restore`. Main thread only.

    A HUP that is ignored stays so: that is how nohup asks a program to outlive its terminal.
    """
    handled = [number for number in STOPPING if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in handled}


def restore(before: dict[int, Any]) -> None:
    """Bring back the handlers that `handle_stopping` gave."""
    for number, handler in before.items():
        signal.signal(number, handler)


def raise_stop(number: int, _frame: FrameType | None = None) -> NoReturn:
    """Raise KeyboardInterrupt for INT, Terminated for the others; from now on all of them are ignored.

    Itself a handler. A second Ctrl-C must not cut the clean-up that the first one began.
    """
    for other in STOPPING:
        signal.signal(other, _pass)  # not SIG_IGN: Python complains aloud of one that has come already
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _pass(_number: int, _frame: FrameType | None) -> None:
    pass
