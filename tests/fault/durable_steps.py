"""Counts every step that changes a disk, and kills the process before, amid or after one of them.

For a process of its own (a fork, or `python durable_steps.py`, see the end): it replaces the functions through which
Python writes. The real calls still run; a second observer, Python's audit events, tells of any that went around it.
"""

import builtins
import io
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

assert shutil.rmtree.avoids_symlink_attacks  # it looks at the real functions once, when it is imported
CREATE = os.O_CREAT | os.O_TRUNC
AUDITED = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod"}
REAL_OPEN, REAL_OS_OPEN = io.open, os.open


class DurableSteps:
    """The steps below the folder `below`. `seen` names each: (function, path relative to it)."""

    def __init__(self, below: Path, dies: Callable[[int, str, str], str] = lambda *_: "") -> None:
        """`dies` is asked at each step (number from 1, function, path): "before", "amid", "after" or "" for go on.

        Amid a write means that half of it came to the disk; amid anything else there is nothing, so it is "after".
        """
        self.below = os.fspath(below.absolute())
        self.dies = dies
        self.seen: list[tuple[str, str]] = []
        self.unseen: list[str] = []
        self._inside = threading.local()
        self._lock = threading.Lock()

    def take(self, function: str, path: str, act: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """Do one step, `act`, or die at it. Paths elsewhere are none of ours."""
        if not (path + "/").startswith(self.below + "/"):
            return self._do(act)
        name = os.path.relpath(path, self.below)
        with self._lock:
            self.seen.append((function, name))
            how = self.dies(len(self.seen), function, name)
        if how == "before":
            die()
        try:
            return self._do(half if how == "amid" and half else act)
        finally:  # a step that fails, like a mkdir over a folder, is one, too
            if how:
                die()

    def _do(self, act: Callable[[], Any]) -> Any:
        self._inside.now = True
        try:
            return act()
        finally:
            self._inside.now = False

    def watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an audit event below our folder that no step is behind."""
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & (CREATE | os.O_WRONLY | os.O_RDWR)
        if (opened or event in AUDITED) and not getattr(self._inside, "now", False):
            path = str(arguments[0]) if isinstance(arguments[0], str | os.PathLike) else ""
            if path.startswith(self.below):
                self.unseen.append(f"{event} {path}")

    def install(self) -> None:
        """Replace the functions, for the rest of this process."""
        sys.addaudithook(self.watch)
        for name in ("mkdir", "rmdir", "unlink", "remove", "chmod", "truncate"):
            setattr(os, name, self._by_path(name))
        for name in ("rename", "replace", "link", "symlink"):
            setattr(os, name, self._by_target(name))
        for name in ("fsync", "fdatasync", "fchmod", "ftruncate"):
            setattr(os, name, self._by_descriptor(name))
        os.write, os.sendfile, os.open = self._write(), self._by_descriptor("sendfile"), self._os_open
        io.open = builtins.open = self._open

    def _by_path(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def step(path: Any, *more: Any, **options: Any) -> Any:
            return self.take(name, located(path, options.get("dir_fd")), lambda: real(path, *more, **options))

        return step

    def _by_target(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def step(source: Any, target: Any, *more: Any, **options: Any) -> Any:
            path = located(target, options.get("dst_dir_fd"))
            return self.take(name, path, lambda: real(source, target, *more, **options))

        return step

    def _by_descriptor(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def step(descriptor: int, *more: Any, **options: Any) -> Any:
            return self.take(name, opened_as(descriptor), lambda: real(descriptor, *more, **options))

        return step

    def _write(self) -> Callable[[int, Any], int]:
        real = os.write

        def step(descriptor: int, data: Any) -> int:
            half = bytes(data)[: len(data) // 2]
            return self.take(
                "write", opened_as(descriptor), lambda: real(descriptor, data), lambda: real(descriptor, half)
            )

        return step

    def _os_open(self, path: Any, flags: int, *more: Any, **options: Any) -> int:
        def act() -> int:
            return REAL_OS_OPEN(path, flags, *more, **options)

        return self.take("open", located(path, options.get("dir_fd")), act) if flags & CREATE else self._do(act)

    def _open(self, file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
              newline: Any = None, closefd: bool = True, opener: Any = None) -> Any:  # fmt: skip
        """Open for writing over a raw file whose every write is a step; for reading as ever."""
        if not set(mode) & set("wax+"):
            return REAL_OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        steps = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                whole, half = super().write, bytes(data)[: len(data) // 2]
                return steps.take("write", opened_as(self.fileno()), lambda: whole(data), lambda: whole(half))

        def act() -> io.FileIO:
            return Raw(file, mode.replace("b", "").replace("t", ""), closefd=closefd, opener=opener)

        raw = act() if isinstance(file, int) else self.take("open", located(file, None), act)
        if buffering == 0:
            return raw
        binary = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding, errors, newline, buffering == 1)


def die() -> None:
    """End as a machine that lost its power: now."""
    os.kill(os.getpid(), signal.SIGKILL)


def located(path: Any, folder: int | None) -> str:
    """Give the absolute path of a name that may be relative to an open folder."""
    return str(Path(Path.cwd() if folder is None else opened_as(folder), path))


def opened_as(descriptor: int) -> str:
    """Give the path of an open file."""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def at(number: int, how: str) -> Callable[[int, str, str], str]:
    """Die at step `number`, `how`."""
    return lambda count, _function, _path: how if count == number else ""


def at_file(function: str, ending: str, how: str) -> Callable[[int, str, str], str]:
    """Die, `how`, at the first step of `function` on a path with that `ending`."""
    return lambda _count, name, path: how if name == function and path.endswith(ending) else ""


def in_fork(steps: DurableSteps, work: Callable[[], Any]) -> bool:
    """Do `work` under `steps` in a forked process; give whether it died. What it saw comes back in `steps`."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        with os.fdopen(write_end, "wb") as report:
            try:
                steps.install()
                work()
                report.write(json.dumps([steps.seen, steps.unseen]).encode())
                report.flush()
                os._exit(0)
            finally:
                os._exit(1)  # the child must never return into pytest
    os.close(write_end)
    with os.fdopen(read_end, "rb") as report:
        said = report.read()
    _, status = os.waitpid(child, 0)
    died = os.WIFSIGNALED(status)
    assert died or os.WEXITSTATUS(status) == 0, "the work failed by itself"
    if not died:
        seen, steps.unseen = json.loads(said)
        steps.seen = [tuple(step) for step in seen]
    return died


if __name__ == "__main__":
    # python durable_steps.py FOLDER FUNCTION ENDING HOW TOOL ARGUMENT...: a tool that dies there, else runs to its end
    folder, function, ending, how, tool, *arguments = sys.argv[1:]
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name=tool)
    main = script.load()
    DurableSteps(Path(folder), at_file(function, ending, how)).install()
    sys.argv = [str(Path(sys.executable).with_name(tool)), *arguments]
    main()
