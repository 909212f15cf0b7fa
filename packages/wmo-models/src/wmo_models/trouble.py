"""What became of a failed try, told while the model is still being asked: to people, and to who waits for the reply."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from wmo_kit.log import Log

Cause = Literal["connection", "timeout", "rate_limit", "server", "refused", "overflow", "malformed"]
"""The class of a failed try."""


@dataclass(frozen=True)
class Trouble:
    """A failed try that is not the end: another follows after `wait_s` seconds, or the next endpoint takes over.

    `spent_s` are the seconds that the try took, `message` says what failed, `next_step` what follows.
    """

    endpoint: str
    model: str
    cause: Cause
    message: str
    next_step: str
    spent_s: float
    wait_s: float


Teller = Callable[[Trouble], None]
"""Is told of trouble."""
_waiting: ContextVar[Teller | None] = ContextVar("waiting", default=None)
"""No argument of Provider.complete: every layer between (recording, failover) would have to pass it on."""


@contextmanager
def listening(listener: Teller) -> Iterator[None]:
    """Have `listener` told of the trouble that this thread's completions meet in the block, before each wait."""
    token = _waiting.set(listener)
    try:
        yield
    finally:
        _waiting.reset(token)


def teller(role: str, log: Log | None) -> Teller:
    """Give what tells whoever waits in its thread and, on the log, people: one line."""

    def tell(trouble: Trouble) -> None:
        waiting = _waiting.get()
        if waiting is not None:
            waiting(trouble)
        if log is not None:
            fields = {"role": role, "endpoint": trouble.endpoint, "model": trouble.model, "class": trouble.cause}
            message = f"{role}: {trouble.message}; {trouble.next_step}"
            log.say("retry", message, **fields, seconds=round(trouble.wait_s, 1))

    return tell
