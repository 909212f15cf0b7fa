"""One process works on a run at a time: file locks that the kernel frees when their holder dies.

Two locks, because a loop is one process and each of its steps another. `.lock` is the run itself: a loop holds it from
its first step to its last (RunHold), a tool that is called by hand for its one step. `.step.lock` is that step: every
tool takes it, so that a tool which outlives its killed loop still keeps the next one away.
"""

import fcntl
import json
import os
import socket
import stat
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from wmo_kit.errors import BadDocument, Locked, Missing
from wmo_kit.io_errors import naming

from wmo_population.layout import RunLayout

HOLDER_WAIT_S = 0.5
"""How long to wait for a holder that has the lock and is about to write its name."""
HOLDER_POLL_S = 0.01


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, as its file says."""

    pid: int
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on host '{self.host}'"


class InUse(Locked):
    """The lock is held; `holder` is None where nobody has written a name."""

    def __init__(self, run_dir: Path, holder: Holder | None) -> None:
        super().__init__(f"run '{run_dir}' is in use by {holder or 'another process'}: wait for it to end, or stop it")
        self.holder = holder


class _FileLock:
    """An exclusive lock on the file `path` of a run, as a context manager; does not wait.

    Entering raises InUse; Missing where there is no run directory; BadDocument where something else has the file's
    name; OSError. The file is removed on release, so that a finished run holds no trace of who worked on it.
    """

    def __init__(self, run_dir: Path, path: Path) -> None:
        self._run_dir, self._path = run_dir, path
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        if not self._run_dir.is_dir():
            raise Missing(f"no run directory '{self._run_dir}': make one with 'wmo-state init'")
        while self._descriptor is None:
            self._descriptor = self._try_lock()
        try:
            with naming(self._path):
                os.ftruncate(self._descriptor, 0)
                os.write(self._descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        except BaseException:
            self._free(self._descriptor)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        if _is_strange(self._path):
            raise BadDocument(f"'{self._path}' is no regular file, so it is not ours: move it away")
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, self._path):
                return descriptor
        except BlockingIOError as error:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise InUse(self._run_dir, holder) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None


class RunHold(_FileLock):
    """A run held for as long as the context lasts, by a loop of several steps.

    The tools that the loop starts work on the run meanwhile; any other gets Locked. Entering raises as RunLock does.
    """

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, RunLayout(run_dir).lock)


class RunLock:
    """The right to take a step of a run, as a context manager; does not wait.

    Entering raises Locked, which names the pid and host of who works on the run, or holds it for another loop than the
    one that we were started by; Missing where there is no run directory; OSError.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """Take the locks."""
        with ExitStack() as stack:
            try:
                stack.enter_context(RunHold(self._run_dir))
            except InUse as error:
                if error.holder is None or not _started_us(error.holder):
                    raise
            stack.enter_context(_FileLock(self._run_dir, RunLayout(self._run_dir).step_lock))
            self._held = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the locks."""
        self._held.close()


def _is_strange(path: Path) -> bool:
    """Say whether something else than a file is there; one look, because a holder may remove its file meanwhile."""
    try:
        return not stat.S_ISREG(path.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _holder(descriptor: int) -> Holder | None:
    """Read the holder's name. The file is empty for the moment between its lock and its writing."""
    deadline = time.monotonic() + HOLDER_WAIT_S
    while time.monotonic() < deadline:
        try:
            said = json.loads(os.pread(descriptor, 4096, 0))
            return Holder(int(said["pid"]), str(said["host"]))
        except (ValueError, TypeError, KeyError):
            time.sleep(HOLDER_POLL_S)
    return None


def _started_us(holder: Holder) -> bool:
    """Say whether the holder is an ancestor of this process."""
    process = os.getppid() if holder.host == socket.gethostname() else 0
    while process > 1 and process != holder.pid:
        process = _parent(process)
    return process == holder.pid


def _parent(process: int) -> int:
    """Give the id of a process's parent, 0 where it has ended meanwhile."""
    try:
        return int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
