"""Every failure that a user may see: one class is one exit code, the message says the rest (design 2)."""

import signal

SHOWN_CHARS = 200
"""How much of a value from outside a message quotes."""


def shown(value: object, limit: int = SHOWN_CHARS) -> str:
    """Give a value from outside for a message: one line, at most about `limit` characters, encodable as UTF-8."""
    text = str(value)
    cut = text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)


class WmoError(Exception):
    """A failure: a message for people (lower case, problem first, subject quoted, what to do) and an exit code."""

    code = 70


class Negative(WmoError):
    """A valid negative: a rejected candidate, a manifest mismatch, a verification that failed."""

    code = 1


class Usage(WmoError):
    """The command line is wrong."""

    code = 2


class BadDocument(WmoError):
    """An input document is malformed, of an unknown schema, or contradicts itself."""

    code = 65


class Missing(WmoError):
    """Something needed is not there: node, bubblewrap, a server. The message says how to get it."""

    code = 69


class CannotWrite(WmoError):
    """I/O failed: disk full, permission, a path that is no directory."""

    code = 74


class Transient(WmoError):
    """It may work later: an endpoint is down, a verifier gave no reward."""

    code = 75


class Locked(Transient):
    """Another process works on this run."""


class BudgetReached(Transient):
    """A run used what it may use; it goes on once its limit is raised."""


class Conflict(WmoError):
    """Configuration contradicts the record or itself."""

    code = 78


class Cancelled(WmoError):
    """Work was cut short because a stop was asked for: there is no result."""

    code = 130


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived. No `Exception`, so that no handler for ordinary failures can swallow it."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(number)
        self.number = signal.Signals(number)

    @property
    def code(self) -> int:
        """The exit code: 143 for TERM, 129 for HUP."""
        return 128 + self.number
