"""A box that is held at its door: its limits and its network are made before anything runs in it."""

import contextlib
import json
import os
import resource
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from wmo_kit.child import Child, started_child
from wmo_kit.errors import Missing

from wmo_suites.box import FIXED_ENV, Bind, bwrap_command, no_box
from wmo_suites.box_furniture import IDS_A_PROCESS, bound_processes, listen_in
from wmo_suites.host import survey
from wmo_suites.supervisor import IN_MEMORY, resident_bytes, unlinked_bytes, used_bytes

LOOK_S = 0.25
"""How often is looked whether a box uses more than it may."""
LINE_BYTES = 4096
END_S = 5.0
"""How long a box that could not be made may take to end."""


@dataclass(frozen=True)
class BoxLimits:
    """What a box may use: bytes of memory (each process, and all), of a file, of /tmp and /dev/shm; processes."""

    memory_bytes: int = 2 << 30
    file_bytes: int = 64 << 20
    processes: int = 256
    tmp_bytes: int = 64 << 20


@dataclass
class HeldBox:
    """A box with its command. `listener` is a socket in its network, served here; None where none was asked for."""

    child: Child
    listener: socket.socket | None
    excess: "Excess"
    _status: "_Status"

    def command_ended(self) -> bool:
        """Say, after the box's end, whether it was the command that ended, and not the box that could not be made."""
        return b'"exit-code"' in self._status.rest()


@contextmanager
def held_box(
    command: Sequence[str],
    *,
    binds: Sequence[Bind],
    chdir: str,
    env: Mapping[str, str],
    limits: BoxLimits,
    network: bool = False,
    port: int | None = None,
    cap_bytes: int,
    grace_s: float,
) -> Iterator[HeldBox]:
    """Start `command` in a box that has a private network and, with `port`, a socket there that listens.

    With `network` it has the host's instead. FIXED_ENV and `env` are its environment, which stands in no command line.
    The rest as in bwrap_command and started_child. On leaving, everything in the box is dead and the socket closed. The
    box dies with the thread that starts it. Raises Missing where the kernel allows no box or no such socket.
    """
    with ExitStack() as stack:
        status, block = _Status(), _Block()
        stack.callback(status.close)
        stack.callback(block.close)
        argv = bwrap_command(
            command,
            host=survey(),
            binds=binds,
            chdir=chdir,
            network=network,
            tmp_bytes=limits.tmp_bytes,
            status_fd=status.theirs,
            block_fd=block.theirs,
        )
        fds = (status.theirs, block.theirs)
        started = started_child(argv, env={**FIXED_ENV, **env}, cap_bytes=cap_bytes, grace_s=grace_s, pass_fds=fds)
        child = stack.enter_context(started)
        status.shut_theirs()
        process = status.first_process()
        if process is None:
            raise no_box(child.wait(END_S).stderr)
        _limit(process, limits)
        with _alive(child):
            if port is None:
                bound_processes(process, limits.processes)
                listener = None
            else:
                listener = stack.enter_context(listen_in(process, port, limits.processes))
        block.open()
        yield HeldBox(child, listener, Excess(process, limits), status)


@contextmanager
def _alive(child: Child) -> Iterator[None]:
    """Say of a box that ended before it was furnished why it did."""
    try:
        yield
    except Missing as error:
        ended = child.wait(END_S)
        raise (error if ended.timed_out else no_box(ended.stderr)) from error


def _limit(process: int, limits: BoxLimits) -> None:
    bounds = (
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, limits.processes * IDS_A_PROCESS),  # in its user namespace; not for root
    )
    with contextlib.suppress(ProcessLookupError):  # it ended already, and so did the box
        for kind, wanted in bounds:
            hard = resource.prlimit(process, kind)[1]
            bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.prlimit(process, kind, (bound, bound))


@dataclass
class Excess:
    """Set once a box uses more than it may in all: a Flag (wmo_kit.child) that looks every LOOK_S.

    `first` is the box's first process. The box is killed at once: a crowd outgrows whoever asks it to end. `words` says
    what was too much, "" before.
    """

    first: int
    limits: BoxLimits
    words: str = ""
    _looked: float = field(default_factory=time.monotonic)

    def is_set(self) -> bool:
        """Say whether it does, or did."""
        now = time.monotonic()
        if not self.words and now - self._looked > LOOK_S:
            self._looked = now
            self.words = self._look()
            if self.words:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.first, signal.SIGKILL)
        return bool(self.words)

    def _look(self) -> str:
        inside = f"/proc/{self.first}/root/proc"
        try:
            processes = [name for name in os.listdir(inside) if name.isdigit()]  # noqa: PTH208  names alone, quickly
        except OSError:
            return ""  # the box has ended
        if len(processes) > self.limits.processes:
            return f"more than {self.limits.processes} processes"
        try:
            in_files = sum(used_bytes(f"/proc/{self.first}/root{place}") for place in IN_MEMORY)
        except OSError:
            return ""
        ids = [int(process) for process in processes]
        used = in_files + resident_bytes(ids, inside) + unlinked_bytes(ids, inside)
        return f"more than {self.limits.memory_bytes >> 20} MiB of memory" if used > self.limits.memory_bytes else ""


class _Status:
    """What bubblewrap says of a box: a JSON object a line. `theirs` is the end that it inherits."""

    def __init__(self) -> None:
        ours, self.theirs = os.pipe()
        self._said = os.fdopen(ours, "rb", buffering=0)
        self._theirs_open, self._words = True, b""

    def shut_theirs(self) -> None:
        """Close their end here, once they have it: their end of it is then the end of what we read."""
        if self._theirs_open:
            os.close(self.theirs)
        self._theirs_open = False

    def first_process(self) -> int | None:
        """Wait for the box; give its first process as the host sees it, None where there came none."""
        while b"\n" not in self._words and (data := self._said.read(LINE_BYTES)):
            self._words += data
        try:
            return int(json.loads(self._words.split(b"\n")[0])["child-pid"])
        except (ValueError, LookupError):
            return None

    def rest(self) -> bytes:
        """Give all that was said, after the box's end."""
        while data := self._said.read(LINE_BYTES):
            self._words += data
        return self._words

    def close(self) -> None:
        self.shut_theirs()
        self._said.close()


class _Block:
    """Holds the box back until `open`. `theirs` is the end that it inherits."""

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()

    def open(self) -> None:
        """Let the box be furnished and its command start."""
        os.write(self._ours, b".")  # our own copy of the other end is open: never a broken pipe

    def close(self) -> None:
        os.close(self.theirs)
        os.close(self._ours)
