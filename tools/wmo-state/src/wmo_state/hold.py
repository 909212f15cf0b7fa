"""`wmo-state hold`: a command that has a run to itself, itself and the tools that it starts, until it ends."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from wmo_kit.errors import Missing
from wmo_kit.stopping import deferred_signals
from wmo_population.lock import RunHold

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def run_hold(run: Path, command: Sequence[str]) -> int:
    """Run `command` with the run held; gives its exit code. Our own standard streams are the command's.

    A signal is passed on, the command's end awaited, and then the signal raised. Where we are killed, the command gets
    TERM. Raises Locked, Missing (no run, no such program), KeyboardInterrupt, Terminated, OSError.
    """
    with RunHold(run), deferred_signals() as stop:
        try:
            process = subprocess.Popen(command, preexec_fn=_term_with(os.getpid()))  # noqa: PLW1509  ours only waits
        except (FileNotFoundError, PermissionError) as error:
            raise Missing(f"cannot start '{command[0]}': there is no such program") from error
        with stop.calling(lambda: process.send_signal(stop.number or signal.SIGTERM)):
            code = process.wait()
    return code if code >= 0 else 128 - code


def _term_with(parent: int) -> Callable[[], None]:
    """Give what a new process does first: ask the kernel for TERM when `parent` dies."""
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)  # it died before we could ask

    return ask
