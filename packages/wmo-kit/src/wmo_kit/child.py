"""Child processes: their own process group, drained pipes, a wall budget, TERM then KILL to the whole group."""

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from wmo_kit.bell import Bell
from wmo_kit.signals import shielded

POLL_S = 0.01
LOOK_S = 0.05
"""In the place of POLL_S where a bell wakes us: many episodes wait at once, and each look costs all of them."""
GRACE_S = 1.5
"""How long a child has between TERM and KILL: nothing may be left two seconds after we were asked to stop."""
PIPE_GRACE_S = 1.0
"""How long the pipes may stay open after the group was killed: a process that left the group can hold them for ever."""


class Flag(Protocol):
    """Something to ask whether to stop: a threading.Event, a Stop's, or several in one."""

    def is_set(self) -> bool:
        """Say whether to stop."""


@dataclass
class Drain:
    """Reads a pipe to its end in a thread and keeps the first and the last `cap_bytes` / 2 bytes of it."""

    pipe: IO[bytes]
    cap_bytes: int
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        half = self.cap_bytes // 2
        with contextlib.suppress(ValueError, OSError):  # the pipe was closed under us at the end of the grace
            while chunk := os.read(self.pipe.fileno(), 65536):
                self.total += len(chunk)
                room = half - len(self._head)
                self._head += chunk[:room]
                self._tail = (self._tail + chunk[room:])[-half:] if room < len(chunk) else self._tail

    def kept(self) -> bytes:
        """Give what was kept: all of it below the cap, else head, a marker with the number of bytes left out, tail."""
        dropped = self.total - len(self._head) - len(self._tail)
        marker = b"\n[... %d bytes left out ...]\n" % dropped if dropped > 0 else b""
        return bytes(self._head) + marker + bytes(self._tail)


@dataclass(frozen=True)
class ChildResult:
    """How a child ended. `returncode` is negative for a signal, as subprocess has it."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    cancelled: bool
    seconds: float


def run_child(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    wall_s: float,
    grace_s: float = GRACE_S,
    cap_bytes: int = 1 << 20,
    cancel: Flag | None = None,
    pass_fds: Sequence[int] = (),
) -> ChildResult:
    """Run `argv` to its end, its wall budget or `cancel`, whichever is first; nothing of its process group stays alive.

    `env` None inherits ours. `cap_bytes` bounds what is kept of each stream, never what the child may write. The child
    inherits the descriptors `pass_fds`: one that holds a lock keeps it while a child outlives our own SIGKILL. Raises
    FileNotFoundError and PermissionError where the program cannot be started.
    """
    with started_child(argv, cwd=cwd, env=env, cap_bytes=cap_bytes, grace_s=grace_s, pass_fds=pass_fds) as child:
        child.feed(stdin)
        return child.wait(wall_s, cancel=cancel)


class Child:
    """A running child whose output is drained. Made by `started_child`."""

    def __init__(self, process: subprocess.Popen[bytes], cap_bytes: int, grace_s: float) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101  PIPE was asked for
        self.process, self._stdin, self._grace_s = process, process.stdin, grace_s
        self._drains = [Drain(process.stdout, cap_bytes), Drain(process.stderr, cap_bytes)]
        self._feeder: threading.Thread | None = None

    def feed(self, data: bytes) -> None:
        """Write `data` to the child's standard input and close it, in a thread. Once."""
        with shielded():  # a thread that was made and not started could not be waited for
            self._feeder = threading.Thread(target=_feed, args=(self._stdin, data), daemon=True)
            self._feeder.start()

    def wait(
        self,
        wall_s: float,
        *,
        cancel: Flag | None = None,
        more_s: Callable[[], float] = lambda: 0.0,
        bell: Bell | None = None,
    ) -> ChildResult:
        """Wait for the child's end, `wall_s` seconds from now on or `cancel`; then nothing of its group stays alive.

        `more_s` gives the seconds to add to the budget, as it stands: time that the child lost by no fault of its own.
        `bell` cancels too, and at once; with it, the rest is looked at every LOOK_S only.
        """
        started = time.monotonic()
        timed_out = cancelled = False
        while self.process.poll() is None:
            timed_out = time.monotonic() - started > wall_s + more_s()
            cancelled = any(flag.is_set() for flag in (cancel, bell) if flag is not None)
            if timed_out or cancelled:
                break
            wait_briefly(self.process, bell)
        self.finish()
        stdout, stderr = (drain.kept() for drain in self._drains)
        return ChildResult(self.process.returncode, stdout, stderr, timed_out, cancelled, time.monotonic() - started)

    def finish(self) -> None:
        """End its whole group, and let go of the pipes once they are drained. A second call does nothing."""
        stop_group(self.process, self._grace_s)
        if self._feeder is None:
            self._stdin.close()
        else:
            self._feeder.join(PIPE_GRACE_S)
        for drain in self._drains:
            drain.thread.join(PIPE_GRACE_S)
            drain.pipe.close()


@contextmanager
def started_child(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    cap_bytes: int = 1 << 20,
    grace_s: float = GRACE_S,
    pass_fds: Sequence[int] = (),
) -> Iterator[Child]:
    """Start `argv` in a process group of its own; on leaving, nothing of the group is alive. Arguments as run_child's.

    Its standard input stays open until `feed`.
    """
    with ExitStack() as stack:
        with shielded():
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=None if env is None else dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=pass_fds,
            )
            child = Child(process, cap_bytes, grace_s)
            stack.callback(child.finish)
        yield child


def wait_briefly(process: subprocess.Popen[bytes], bell: Bell | None = None) -> None:
    """Wait for the process's end or `bell`, at most one interval: budgets and cancellation are looked at again then."""
    descriptor = os.pidfd_open(process.pid)  # wakes at once; Popen.wait() with a timeout only sleeps and looks again
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if bell is not None:
            poll.register(bell, select.POLLIN)
        poll.poll((POLL_S if bell is None else LOOK_S) * 1000)
    finally:
        os.close(descriptor)


def stop_group(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """End the child's whole process group: TERM, up to `grace_s` seconds for the child, then KILL to what is left."""
    if process.poll() is None:
        signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
    signal_group(process.pid, signal.SIGKILL)
    process.wait()


def signal_group(group: int, number: signal.Signals) -> None:
    """Signal a process group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), pipe:  # a child may end without reading its input
        pipe.write(data)
