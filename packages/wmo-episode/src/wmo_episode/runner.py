"""The agent's process: a command in the runner's folder, in a box of its own, with a wall budget, no host environment.

The box shows the command /usr, its interpreter and the runner's folder, all read-only, and ends every process that it
leaves behind. It keeps the host's network, because the shim is on loopback.
"""

import errno
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wmo_contracts.episode import SandboxMode
from wmo_kit.child import ChildResult, Flag, run_child
from wmo_kit.errors import Missing
from wmo_suites.box import Bind, bwrap_argv, no_box
from wmo_suites.host import survey

INSIDE = "/run/wmo"
"""Where the box shows the runner's folder: a fixed place, so that compile caches and stack traces do not vary."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
STREAM_CAP_BYTES = 64 * 1024
"""Kept of each stream; what a note shows is far less."""
TERM_GRACE_S = 1.0
"""Between TERM and KILL. An interpreter ends at once; only a candidate that refuses the signal is still there."""


class Interpreter(Protocol):
    """What runs a candidate's language on this machine: node_interpreter.Node or python_interpreter.Python."""

    def binds(self) -> Sequence[Bind]:
        """Give what the box mounts for it, over the runner's folder at INSIDE. Raises Missing."""
        ...

    def environment(self, mode: SandboxMode) -> Mapping[str, str]:
        """Give its variables, and PATH with itself first. Raises Missing."""
        ...


@dataclass(frozen=True)
class Runner:
    """How agent processes are started on this machine."""

    interpreter: Interpreter
    mode: SandboxMode

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        shim_env: Mapping[str, str],
        timeout_s: float,
        stop: Flag,
        more_s: Callable[[], float] = lambda: 0.0,
    ) -> ChildResult:
        """Run `command` in `folder` to its end, `timeout_s` rounded up to whole seconds (and `more_s`), or `stop`.

        The interpreter is first on its PATH; its environment is an allow-list and `shim_env`. Call it from a thread
        that stays: the box dies with the thread that started it. Raises Missing where the command or its box cannot be
        started, FileNotFoundError where `folder` is gone.
        """
        wall_s = math.ceil(timeout_s)
        env = {"HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", **self.interpreter.environment(self.mode), **shim_env}
        if self.mode == "none":
            return _start(command, folder, env, wall_s=wall_s, stop=stop, more_s=more_s)
        status, status_end = os.pipe()
        with os.fdopen(status, "rb") as said:
            try:
                argv = self._boxed(command, folder, env, status_end)
                result = _start(argv, folder, None, wall_s=wall_s, stop=stop, more_s=more_s, pass_fds=(status_end,))
            finally:
                os.close(status_end)
            if result.returncode > 0 and not result.cancelled and b'"exit-code"' not in said.read():
                # an error, not a result: else a machine without boxes would score every harness 0
                raise _not_there(command) if b"execvp" in result.stderr else no_box(result.stderr)
        return result

    def _boxed(self, command: Sequence[str], folder: Path, env: Mapping[str, str], status_fd: int) -> list[str]:
        binds = [Bind(folder, INSIDE), *self.interpreter.binds()]
        host = survey()
        return bwrap_argv(command, host=host, binds=binds, chdir=INSIDE, network=True, env=env, status_fd=status_fd)


def _start(
    argv: Sequence[str],
    folder: Path,
    env: Mapping[str, str] | None,
    *,
    wall_s: float,
    stop: Flag,
    more_s: Callable[[], float],
    pass_fds: Sequence[int] = (),
) -> ChildResult:
    try:
        result = run_child(
            argv,
            cwd=folder,
            env=env,
            wall_s=wall_s,
            grace_s=TERM_GRACE_S,
            cap_bytes=STREAM_CAP_BYTES,
            cancel=_OrGone(stop, folder),
            pass_fds=pass_fds,
            more_s=more_s,
        )
    except (FileNotFoundError, PermissionError) as error:
        _require(folder)
        raise _not_there(argv) from error
    _require(folder)
    return result


def _require(folder: Path) -> None:
    """Raise FileNotFoundError where the runner's folder was removed: what the agent did without it is no result."""
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder.parent))


def _not_there(command: Sequence[str]) -> Missing:
    return Missing(f"cannot start '{command[0]}': there is no such program")


@dataclass(frozen=True)
class AnyOf:
    """Set where any of its events is."""

    events: tuple[Flag, ...]

    def is_set(self) -> bool:
        """Say whether the child is to be stopped."""
        return any(event.is_set() for event in self.events)


@dataclass(frozen=True)
class _OrGone:
    """Set where `stop` is, or where the runner's folder is gone: node would spin in it until its time is up."""

    stop: Flag
    folder: Path

    def is_set(self) -> bool:
        return self.stop.is_set() or not self.folder.is_dir()
