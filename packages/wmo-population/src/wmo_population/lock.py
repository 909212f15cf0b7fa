"""One process works on a run at a time: a file lock that the kernel frees when its holder dies."""

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from wmo_kit.errors import Locked, Missing

from wmo_population.layout import RunLayout

HOLDER_WAIT_S = 0.5
"""How long to wait for a holder that has the lock and is about to write its name."""
HOLDER_POLL_S = 0.01


class RunLock:
    """The exclusive lock of a run, as a context manager; does not wait.

    Entering raises Locked, which names the holder's pid and host; Missing where there is no run directory; OSError.
    The file is removed on release, so that a finished run holds no trace of who worked on it.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._path = RunLayout(run_dir).lock
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        """Take the lock."""
        if not self._run_dir.is_dir():
            raise Missing(f"no run directory '{self._run_dir}': make one with 'wmo-state init'")
        while self._descriptor is None:
            self._descriptor = self._try_lock()
        try:
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        except BaseException:
            self._free(self._descriptor)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the lock."""
        assert self._descriptor is not None  # noqa: S101  entered before it is left
        self._free(self._descriptor)

    def _free(self, descriptor: int) -> None:
        try:
            self._path.unlink(missing_ok=True)  # before the lock is freed: who waits on the old file sees it is gone
        finally:
            os.close(descriptor)
            self._descriptor = None

    def _try_lock(self) -> int | None:
        """Open and lock the file. None where it was removed between the two: another holder has just finished."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, self._path):
                return descriptor
        except BlockingIOError as error:
            message = f"run '{self._run_dir}' is in use by {_holder(descriptor)}: wait for it to end, or stop it"
            os.close(descriptor)
            raise Locked(message) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _holder(descriptor: int) -> str:
    """Name the holder. The file is empty for the moment between its lock and its writing."""
    deadline = time.monotonic() + HOLDER_WAIT_S
    while time.monotonic() < deadline:
        try:
            holder = json.loads(os.pread(descriptor, 4096, 0))
            return f"process {holder['pid']} on host '{holder['host']}'"
        except (ValueError, TypeError, KeyError):
            time.sleep(HOLDER_POLL_S)
    return "another process"
