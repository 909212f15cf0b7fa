"""A box's private network, as the host reaches into it: a socket that listens there and is served here.

A socket belongs to the network namespace that it was made in, whoever holds it. So what runs in the box finds one
address that answers, and no relay stands between: the host accepts the connections itself.
"""

import socket
import subprocess
import sys
import threading
from pathlib import Path

from wmo_kit.errors import Missing

PROGRAM = Path(__file__).with_name("netns_helper.py")
ANSWER_BYTES = 1024
ANSWER_S = 20.0


class _Helper:
    """The helper process, started at its first use and ended with us: it reads a socket that only we hold."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def listen(self, process: int, port: int) -> socket.socket:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._control is not None  # noqa: S101  _start made it
            try:
                self._control.send(f"{process} {port}".encode())
                words, descriptors, _, _ = socket.recv_fds(self._control, ANSWER_BYTES, 1)
            except OSError as error:
                self._stop()
                raise Missing(
                    f"cannot open a socket in a box: {error}; or give up isolation with --sandbox none"
                ) from error
        if not descriptors:
            reason = words.decode(errors="replace") or "the helper ended"
            raise Missing(f"cannot open a socket in a box: {reason}; or give up isolation with --sandbox none")
        return socket.socket(fileno=descriptors[0])

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


_helper = _Helper()


def listen_in(process: int, port: int) -> socket.socket:
    """Give a socket that listens on TCP `port` (1 to 65535) in the network namespace of `process`, a box of ours.

    Safe to use from many threads. Raises Missing (69) with the reason where the kernel does not allow it.
    """
    return _helper.listen(process, port)
