"""The agent's process: a command in the runner's folder, in a box of its own, with a wall budget, no host environment.

The box shows the command /usr, its interpreter and the runner's folder, all read-only. Its network is private, and the
shim's is the one address in it that answers. Everything that the command leaves behind ends with it.
"""

import errno
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from wmo_contracts.episode import SandboxMode
from wmo_kit.bell import Bell
from wmo_kit.child import Child, ChildResult, Flag, started_child
from wmo_kit.errors import Missing
from wmo_suites.box import Bind, no_box
from wmo_suites.held_box import BoxLimits, HeldBox, held_box

from wmo_episode.door import Door, new_token, on_loopback

INSIDE = "/run/wmo"
"""Where the box shows the runner's folder: a fixed place, so that compile caches and stack traces do not vary."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
STREAM_CAP_BYTES = 64 * 1024
"""Kept of each stream; what a note shows is far less."""
TERM_GRACE_S = 1.0
"""Between TERM and KILL. An interpreter ends at once; only a candidate that refuses the signal is still there."""
BOX_PORT = 8080
"""Where a box finds its shim: nothing else is in its network, so that every box may have the same."""


class Interpreter(Protocol):
    """What runs a candidate's language on this machine: node_interpreter.Node or python_interpreter.Python."""

    def binds(self) -> Sequence[Bind]:
        """Give what the box mounts for it, over the runner's folder at INSIDE. Raises Missing."""
        ...

    def environment(self, mode: SandboxMode) -> Mapping[str, str]:
        """Give its variables, and PATH with itself first. Raises Missing."""
        ...


@dataclass(frozen=True)
class Process:
    """A command that runs in the runner's `folder`. `box` is None where it has none."""

    command: Sequence[str]
    folder: Path
    child: Child
    box: HeldBox | None

    def wait(
        self,
        timeout_s: float,
        stop: Flag,
        more_s: Callable[[], float] = lambda: 0.0,
        bell: Bell | None = None,
    ) -> ChildResult:
        """Wait for its end, `timeout_s` rounded up to whole seconds (and `more_s`) from now on, or `stop`.

        `bell` is that of what `stop` is set by which is to end the wait at once (Child.wait).
        A box that uses too much is ended as well; the last words of such a child say so. Raises Missing where the
        command or its box could not be started, FileNotFoundError where its folder is gone.
        """
        flags: tuple[Flag, ...] = (stop, _Gone(self.folder))
        if self.box is not None:
            flags = (*flags, self.box.excess)
        result = self.child.wait(math.ceil(timeout_s), cancel=AnyOf(flags), more_s=more_s, bell=bell)
        _require(self.folder)
        if self.box is None or stop.is_set():
            return result
        if self.box.excess.words:
            words = f"{self.box.excess.words}: everything in the agent's box was killed"
            return replace(result, stderr=words.encode(), cancelled=False)
        if result.returncode > 0 and not result.cancelled and not self.box.command_ended():
            # an error, not a result: else a machine without boxes would score every harness 0
            raise _not_there(self.command) if b"execvp" in result.stderr else no_box(result.stderr)
        return result


@dataclass(frozen=True)
class Agent:
    """A running agent, and the door at which it will knock."""

    process: Process
    door: Door


@dataclass(frozen=True)
class Runner:
    """How agent processes are started on this machine."""

    interpreter: Interpreter
    mode: SandboxMode

    @contextmanager
    def started(
        self, command: Sequence[str], folder: Path, *, port: int = 0, env: Mapping[str, str] | None = None
    ) -> Iterator[Agent]:
        """Start `command` in `folder`; on leaving, everything that it started is dead, and its door is closed.

        The interpreter is first on its PATH; its environment is an allow-list, `env`, PI_SHIM_URL and PI_SHIM_TOKEN.
        `port` as in PiRuntime. Its standard input is open until Child.feed. Call it from a thread that stays: the box
        dies with the thread that started it. Raises Missing, FileNotFoundError where `folder` is gone.
        """
        with ExitStack() as stack:
            if self.mode == "none":
                door = on_loopback(port)
                stack.enter_context(door.listener)
                told = {**(env or {}), **_told(door.url, door.token)}
                process = stack.enter_context(self._bare(command, folder, told))
            else:
                token, inside = new_token(), port or BOX_PORT
                told = {**(env or {}), **_told(f"http://127.0.0.1:{inside}", token)}
                process = stack.enter_context(self._boxed(command, folder, told, port=inside))
                if process.box is None or process.box.listener is None:
                    raise AssertionError("a box with a port has a listener")
                door = Door(process.box.listener, token)
            yield Agent(process, door)

    def run(self, command: Sequence[str], folder: Path, *, timeout_s: float, stop: Flag) -> ChildResult:
        """Run a `command` that needs no shim to its end. Arguments and errors as in `started` and Process.wait."""
        with self._bare(command, folder, {}) if self.mode == "none" else self._boxed(command, folder, {}) as process:
            process.child.feed(b"")
            return process.wait(timeout_s, stop)

    @contextmanager
    def _bare(self, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Iterator[Process]:
        everything = {**self._environment(), **env}
        try:
            started = started_child(
                command, cwd=folder, env=everything, cap_bytes=STREAM_CAP_BYTES, grace_s=TERM_GRACE_S
            )
            child = started.__enter__()
        except (FileNotFoundError, PermissionError) as error:
            _require(folder)
            raise _not_there(command) from error
        with ExitStack() as stack:
            stack.push(started)
            yield Process(command, folder, child, None)

    @contextmanager
    def _boxed(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str], *, port: int | None = None
    ) -> Iterator[Process]:
        with held_box(
            command,
            binds=[Bind(folder, INSIDE), *self.interpreter.binds()],
            chdir=INSIDE,
            env={**self._environment(), **env},
            limits=BoxLimits(),
            port=port,
            cap_bytes=STREAM_CAP_BYTES,
            grace_s=TERM_GRACE_S,
        ) as box:
            yield Process(command, folder, box.child, box)

    def _environment(self) -> Mapping[str, str]:
        return {"HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", **self.interpreter.environment(self.mode)}


def _told(url: str, token: str) -> Mapping[str, str]:
    return {"PI_SHIM_URL": url, "PI_SHIM_TOKEN": token}


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
class _Gone:
    """Set where the runner's folder is gone: node would spin in it until its time is up."""

    folder: Path

    def is_set(self) -> bool:
        return not self.folder.is_dir()
