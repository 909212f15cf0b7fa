"""The three standard streams, also where our caller closed one (`tool >&-`)."""

import os
import sys
from typing import TextIO


def open_closed_streams() -> None:
    """Put something at the place of each standard stream that is closed; the use of it raises OSError (EBADF).

    Otherwise the next file that is opened would become the stream, for us and for our children, and Python has None
    where code expects a file. Opened the wrong way round, as GNU's tools do, so that nothing is lost in silence.
    """
    for descriptor, name, flags in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_RDONLY)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            mode, errors = (
                ("r", "strict") if descriptor == 0 else ("w", "backslashreplace" if descriptor == 2 else "strict")
            )
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", errors=errors))


def let_go(stream: TextIO) -> None:
    """Drop what a full disk or a closed pipe did not take: the interpreter would try again at exit, and exit 120."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
