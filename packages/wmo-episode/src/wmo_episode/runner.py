"""The agent's process: a command in the runner's folder, in a box of its own, with a wall budget, no host environment.

The box shows the command /usr, node, the libraries and the runner's folder, all read-only, and ends every process that
it leaves behind. It keeps the host's network, because the shim is on loopback.
"""

import math
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.episode import SandboxMode
from wmo_kit.child import ChildResult, Flag, run_child
from wmo_kit.errors import Missing
from wmo_suites.box import Bind, bwrap_argv, no_box
from wmo_suites.host import survey

from wmo_episode.layout import CACHE, MODULES
from wmo_episode.node_binary import node_prefix

INSIDE = "/run/wmo"
"""Where the box shows the runner's folder: a fixed place, so that node's compile cache and stack traces do not vary."""
NODE_INSIDE = "/opt/node"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
STREAM_CAP_BYTES = 64 * 1024
"""Kept of each stream; what a note shows is far less."""
TERM_GRACE_S = 1.0
"""Between TERM and KILL. node itself ends at once; only a candidate that refuses the signal is still there."""


@dataclass(frozen=True)
class Runner:
    """How agent processes are started on this machine. `runtime` holds node_modules and compile-cache.

    `cache_writable` is for set-up alone (wmo_episode.warm): what a candidate wrote there, the next one would run.
    """

    runtime: Path
    mode: SandboxMode
    cache_writable: bool = False

    @property
    def modules(self) -> Path | None:
        """What the runner's folder links node_modules to; None where the box mounts it."""
        return None if self.mode == "bwrap" else self.runtime / MODULES

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        shim_env: Mapping[str, str],
        timeout_s: float,
        stop: Flag,
    ) -> ChildResult:
        """Run `command` in `folder` to its end, `timeout_s` rounded up to whole seconds, or `stop`.

        `node` is first on its PATH; its environment is an allow-list and `shim_env`. Call it from a thread that stays:
        the box dies with the thread that started it. Raises Missing where the command or its box cannot be started.
        """
        wall_s = math.ceil(timeout_s)
        if self.mode == "none":
            env = self._environment(str(node_prefix() / "bin")) | dict(shim_env)
            return _start(command, folder, env, wall_s=wall_s, stop=stop)
        status, status_end = os.pipe()
        with os.fdopen(status, "rb") as said:
            try:
                argv = self._boxed(command, folder, shim_env, status_end)
                result = _start(argv, folder, None, wall_s=wall_s, stop=stop, pass_fds=(status_end,))
            finally:
                os.close(status_end)
            if result.returncode > 0 and not result.cancelled and b'"exit-code"' not in said.read():
                # an error, not a result: else a machine without boxes would score every harness 0
                raise _not_there(command) if b"execvp" in result.stderr else no_box(result.stderr)
        return result

    def _boxed(self, command: Sequence[str], folder: Path, shim_env: Mapping[str, str], status_fd: int) -> list[str]:
        binds = [
            Bind(node_prefix(), NODE_INSIDE),
            Bind(folder, INSIDE),
            Bind(self.runtime / MODULES, f"{INSIDE}/{MODULES}"),
            Bind(self.runtime / CACHE, f"{INSIDE}/{CACHE}", self.cache_writable),
        ]
        cache = {"NODE_COMPILE_CACHE": f"{INSIDE}/{CACHE}", "NODE_COMPILE_CACHE_PORTABLE": "1"}
        env = self._environment(f"{NODE_INSIDE}/bin") | cache | dict(shim_env)
        host = survey()
        return bwrap_argv(command, host=host, binds=binds, chdir=INSIDE, network=True, env=env, status_fd=status_fd)

    def _environment(self, node_bin: str) -> dict[str, str]:
        return {
            "PATH": f"{node_bin}:{SYSTEM_PATH}",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "NODE_NO_WARNINGS": "1",
        }


def _start(
    argv: Sequence[str],
    folder: Path,
    env: Mapping[str, str] | None,
    *,
    wall_s: float,
    stop: Flag,
    pass_fds: Sequence[int] = (),
) -> ChildResult:
    try:
        return run_child(
            argv,
            cwd=folder,
            env=env,
            wall_s=wall_s,
            grace_s=TERM_GRACE_S,
            cap_bytes=STREAM_CAP_BYTES,
            cancel=stop,
            pass_fds=pass_fds,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise _not_there(argv) from error


def _not_there(command: Sequence[str]) -> Missing:
    return Missing(f"cannot start '{command[0]}': there is no such program")


@dataclass(frozen=True)
class AnyOf:
    """Set where any of its events is."""

    events: tuple[threading.Event, ...]

    def is_set(self) -> bool:
        """Say whether the child is to be stopped."""
        return any(event.is_set() for event in self.events)
