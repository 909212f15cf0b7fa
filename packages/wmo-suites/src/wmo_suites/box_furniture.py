"""What the host furnishes a box with once it is there: a socket in its private network, and a bound on its processes.

A socket belongs to the network namespace that it was made in, whoever holds it. So what runs in the box finds one
address that answers, and no relay stands between: the host accepts the connections itself.
"""

import socket
import subprocess
import sys
import threading
from pathlib import Path

from wmo_kit.errors import Missing

PROGRAM = Path(__file__).with_name("box_helper.py")
ANSWER_BYTES = 1024
ANSWER_S = 20.0
IDS_A_PROCESS = 8
"""Threads take ids of their own: node alone has ten."""
FEWEST_IDS = 512
"""The kernel takes no bound below 301."""


class _Helper:
    """The helper process, started at its first use and ended with us: it reads a socket that only we hold."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def ask(self, process: int, port: int, pids: int) -> socket.socket | None:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._control is not None  # noqa: S101  _start made it
            try:
                self._control.send(f"{process} {port} {pids}".encode())
                words, descriptors, _, _ = socket.recv_fds(self._control, ANSWER_BYTES, 1)
            except OSError as error:
                self._stop()
                raise _unfurnished(str(error)) from error
        if words != b"ok":
            raise _unfurnished(words.decode(errors="replace") or "the helper ended")
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(PROGRAM)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._control = ours

    def _stop(self) -> None:
        """Let go of a helper that does not answer as agreed; the next use starts another."""
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.kill()
            self._process.wait()
        self._process = None


def _unfurnished(reason: str) -> Missing:
    return Missing(f"cannot furnish a box: {reason}; or give up isolation with --sandbox none")


_helper = _Helper()


def listen_in(process: int, port: int, processes: int) -> socket.socket:
    """Give a socket that listens on TCP `port` (1 to 65535) in the network of a box of ours, `process` being its first.

    The box's processes are bounded as by `bound_processes`. Safe to use from many threads. Raises Missing (69) with the
    reason where the kernel does not allow it.
    """
    listener = _helper.ask(process, port, _ids(processes))
    if listener is None:
        raise AssertionError("a port was asked for")
    return listener


def bound_processes(process: int, processes: int) -> None:
    """Have the kernel bound a box to about so many processes, threads counted, root's too; `process` is its first one.

    Linux can since 6.14; on an older one this does nothing, and a look from time to time must do. Raises
    as listen_in.
    """
    _helper.ask(process, 0, _ids(processes))


def _ids(processes: int) -> int:
    return max(processes * IDS_A_PROCESS, FEWEST_IDS)
