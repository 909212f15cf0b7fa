"""Processes that leave their process group: adopted when their parent ends, so that they can be found and ended too.

For a command that has no box, where nothing else bounds it. Linux: a subreaper gets the orphans below it.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
ROUNDS, ROUND_S = 200, 0.01
"""How often to look again for what was forked away while we looked; a killed process goes within a round or two."""


@contextmanager
def ending_descendants() -> Iterator[None]:
    """On leaving the block, kill every process that came to be below us in it; nothing else may start any meanwhile.

    From then on this process adopts all orphans below it. Raises OSError where that cannot be asked for.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl failed")
    spared = descendants()
    try:
        yield
    finally:
        for _ in range(ROUNDS):
            fresh = descendants() - spared
            if not fresh:
                break
            for process in fresh:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):  # not our own child (yet)
                    os.waitpid(process, os.WNOHANG)
            time.sleep(ROUND_S)


def descendants() -> set[int]:
    """Give the ids of all processes below this one, zombies too."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended while we looked
            parents[int(path.parent.name)] = int(path.read_bytes().rpartition(b")")[2].split()[1])
    below = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    return below - {os.getpid()}
