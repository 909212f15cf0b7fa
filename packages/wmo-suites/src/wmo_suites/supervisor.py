"""The process that a sandbox starts with: runs commands and file operations for the host, one at a time.

A program of its own, `python3 -I -S supervisor.py`: it is mounted alone into the box, so it imports only the standard
library, and little of that, for start-up time. The host speaks JSON lines over the socket on stdin and gets one line
back for each. The end of that socket is the end of the sandbox.

In a box this is process 1 of its PID namespace: no signal from inside can end it, it inherits every orphan, and the
kernel kills the rest when it goes. Without a box it is a subreaper and does the killing itself. Commands have its user
id, so it is not dumpable: else they could write to its memory (ptrace, /proc/1/mem), take its descriptors
(pidfd_getfd), and answer the host in its name.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself costs a tenth of our start
    from typing import Any, NoReturn

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36  # linux/prctl.h
CHUNK = 65536
"""Also a pipe's capacity: what a shell wrote before it ended is within one such read."""
LOOK_S = 0.25
"""How often is looked whether a sandbox uses more than it may."""
WALK_SHARE = 10
"""Walking the workspace takes at most one part in so many of the time, however many files it has."""
BLOCK_BYTES = 512  # stat(2): st_blocks
ENTRY_BYTES = 4096
"""What a file or folder counts at least: an empty one takes an inode, and a disk has only so many."""
INODE_BYTES = 1024
WRITABLE, IN_MEMORY = ("/app", "/logs"), ("/tmp", "/dev/shm")
KILL_ROUNDS = 50
SETTLE_ROUNDS, SETTLE_S = 500, 0.01
DEFAULTS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
"""Ignored here, or by whoever started us (a background job ignores QUIT): a command would keep that."""


class Kept:
    """The first and the last bytes of a stream, `cap` in all, and how many there were between."""

    def __init__(self, cap: int) -> None:
        self._half = max(cap // 2, 1)
        self._head, self._tail, self._total = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-self._half :] if room < len(data) else self._tail

    def reply(self) -> dict[str, Any]:
        """Give the text (undecodable bytes as U+FFFD, NULs taken out, a marker for the gap) and the gap's size."""
        dropped = self._total - len(self._head) - len(self._tail)
        marker = f"\n[... {dropped} bytes left out ...]\n" if dropped else ""
        text = decode(self._head) + marker + decode(self._tail) if dropped else decode(self._head + self._tail)
        return {"output": text, "dropped": dropped}


def decode(data: bytearray) -> str:
    """Give the bytes as text that any JSON reader takes."""
    return data.decode("utf-8", "replace").replace("\0", "")


class Supervisor:
    """Serves one host until its socket ends. `limits` are SandboxLimits by field name."""

    def __init__(self, control: int, limits: dict[str, Any]) -> None:
        self._control, self._limits = control, limits
        self._home = os.getcwd()  # noqa: PTH109  pathlib costs 8 ms of start-up
        self._null = os.open(os.devnull, os.O_RDWR)
        set_limits(limits)
        self._bounds, self._look_at = Bounds(limits), 0.0
        self._streams: dict[int, Kept] = {}
        self._shell, self._status = 0, 0
        self._forgiven = False  # whether the command in progress is over a limit by what it ran apart and is dead
        self._wake, wake_write = os.pipe()
        for descriptor in (self._wake, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # set_wakeup_fd needs a handler
        self._poller = select.poll()
        self._poller.register(self._wake, select.POLLIN)
        self._poller.register(control, 0)  # the end of the socket is always reported

    def serve(self) -> None:
        """Answer requests, one JSON line each, until the host hangs up."""
        buffer = bytearray()
        self._poller.modify(self._control, select.POLLIN)
        while True:
            alone = len(process_ids()) == 1
            if not alone and self._bounds.exceeded():
                os.kill(-1, signal.SIGKILL)
            if self._turn(None if alone else LOOK_S):
                data = os.read(self._control, 1 << 20)
                if not data:
                    return
                buffer += data
                if data.endswith(b"\n"):  # the host waits for the answer before it writes the next line
                    self._poller.modify(self._control, 0)
                    send_line(self._control, self._answer(json.loads(buffer)))
                    self._poller.modify(self._control, select.POLLIN)
                    buffer.clear()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["op"] == "bash":
                return self._bash(request["command"], request["timeout_s"], request["env"])
            path = os.path.join(self._home, request["path"])  # noqa: PTH118  see above
            if request["op"] == "read_file":
                return read_file(path, self._limits["output_cap_bytes"])
            return write_file(path, request["content"].encode())
        except OSError as error:
            return {"error": (error.strerror or str(error)).lower()}

    def _bash(self, command: str, timeout_s: float, env: dict[str, str]) -> dict[str, Any]:
        spared = set(process_ids())
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        try:
            self._shell = self._spawn(["bash", "-c", command], write_end, env)
        except OSError:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        kept = self._streams[read_end] = Kept(self._limits["output_cap_bytes"])
        self._poller.register(read_end, select.POLLIN)
        deadline = time.monotonic() + timeout_s
        stopped, self._forgiven = "", False
        while self._shell:
            self._turn(LOOK_S if stopped else min(LOOK_S, max(deadline - time.monotonic(), 0)))
            if self._shell and not stopped:
                stopped = self._stop_if_over(deadline, spared)
        if stopped:
            self._settle(spared)
        if read_end in self._streams:
            self._take(read_end)
            self._streams[read_end] = Kept(0)  # a child in the background may hold it: drained, so that it never blocks
        code = os.waitstatus_to_exitcode(self._status)
        return {**kept.reply(), "exit_code": code if code >= 0 else 128 - code, "stopped": stopped}

    def _stop_if_over(self, deadline: float, spared: set[int]) -> str:
        """Kill what the running command started where its time is up, everything where the sandbox is too large."""
        now = time.monotonic()
        if now >= deadline:
            kill_strangers(spared)
            return "timeout"
        if now < self._look_at:
            return ""  # some output, or its end, woke us
        self._look_at = now + LOOK_S
        exceeded = self._bounds.exceeded()
        if not exceeded:
            return ""
        send_all(signal.SIGSTOP)  # at once, which a fork bomb needs: a look at each process takes longer than it
        if boxes := boxes_within(process_ids()):
            send(boxes, signal.SIGKILL)  # what a verifier runs apart: it goes on without
            self._forgiven = True
        send_all(signal.SIGCONT if self._forgiven else signal.SIGKILL)
        return "" if self._forgiven else exceeded

    def _settle(self, spared: set[int]) -> None:
        """Wait until what was killed is gone: dying takes a moment, and the next command is not to meet it."""
        for _ in range(SETTLE_ROUNDS):
            self._reap()
            if not strangers(spared):
                return
            time.sleep(SETTLE_S)

    def _spawn(self, argv: list[str], output: int, env: dict[str, str]) -> int:
        """Start a command as a session of its own, in our folder. No fork: a copy of this process takes 1 ms."""
        streams = [
            (os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate((self._null, output, output))
        ]
        environment = {**os.environ, **env}
        return os.posix_spawnp(
            argv[0], argv, environment, file_actions=streams, setsid=True, setsigdef=DEFAULTS, setsigmask=()
        )

    def _turn(self, wait_s: float | None) -> bool:
        """Wait for anything and deal with it, all but requests: True says that the host has something to say."""
        asked = False
        for descriptor, event in self._poller.poll(None if wait_s is None else wait_s * 1000):
            if descriptor == self._wake:
                os.read(self._wake, CHUNK)
                self._reap()
            elif descriptor in self._streams:
                self._take(descriptor)
            elif event & select.POLLIN:
                asked = True
            else:
                end()
        return asked

    def _take(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        if data:
            self._streams[descriptor].add(data)
        else:
            self._poller.unregister(descriptor)
            del self._streams[descriptor]
            os.close(descriptor)

    def _reap(self) -> None:
        for child, status in reaped():
            if child == self._shell:
                self._shell, self._status = 0, status


class Bounds:
    """What a box may use in all, which no limit of the kernel's counts together. Without a box there is none."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._limits, self._boxed = limits, os.getpid() == 1
        self._walk_at = 0.0

    def exceeded(self) -> str:
        """Name the limit that the box is over: processes, memory or storage; "" where it is over none."""
        if not self._boxed:
            return ""
        processes = process_ids()
        if len(processes) > self._limits["processes"]:
            return "processes"
        if resident_bytes(processes) + sum(map(used_bytes, IN_MEMORY)) > self._limits["memory_bytes"]:
            return "memory"
        began = time.monotonic()
        if began >= self._walk_at:
            stored = sum(map(stored_bytes, WRITABLE)) + unlinked_bytes(processes)
            took = time.monotonic() - began
            self._walk_at = began + max(LOOK_S, WALK_SHARE * took)
            if stored > self._limits["file_bytes"]:
                return "storage"
        return ""


def resident_bytes(processes: list[int], proc: str = "/proc") -> int:
    """Give the memory that processes have, but for files on a disk; what they share is counted for each."""
    total = 0
    for process in processes:
        try:
            with open(f"{proc}/{process}/status", "rb") as file:  # noqa: PTH123
                lines = file.read().splitlines()
        except OSError:
            continue  # it ended meanwhile
        for line in lines:
            if line.startswith((b"RssAnon:", b"RssShmem:")):
                total += int(line.split()[1]) << 10
    return total


def used_bytes(place: str) -> int:
    """Give what a file system in memory holds, its files' own records too."""
    status = os.statvfs(place)
    return (status.f_blocks - status.f_bfree) * status.f_frsize + (status.f_files - status.f_ffree) * INODE_BYTES


def stored_bytes(folder: str) -> int:
    """Give what a folder's entries take on disk; links are not followed, and folders that may not be read not seen.

    Nor is what is mounted below it read-only, such as a proposer's evidence: no command can have written it. And no
    folder whose path is longer than the kernel takes one.
    """
    total, waiting = 0, [folder]
    while waiting:  # not os.walk: it calls itself for each level, and an agent can make too many
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += max(status.st_blocks * BLOCK_BYTES, ENTRY_BYTES)
                    if stat.S_ISDIR(status.st_mode) and not read_only(entry.path):
                        waiting.append(entry.path)
        except OSError:
            continue  # it was removed meanwhile, or may not be read
    return total


def read_only(folder: str) -> bool:
    """Say whether a folder lies on a file system that is mounted read-only."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False  # it was removed meanwhile, or is hidden by one that may not be entered


def unlinked_bytes(processes: list[int], proc: str = "/proc") -> int:
    """Give what files take that have no name any more and are held open."""
    held: dict[tuple[int, int], int] = {}
    for process in processes:
        try:
            for name in os.listdir(f"{proc}/{process}/fd"):  # noqa: PTH208
                status = os.stat(f"{proc}/{process}/fd/{name}")  # noqa: PTH116
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    held[status.st_dev, status.st_ino] = status.st_blocks * BLOCK_BYTES
        except OSError:
            continue  # it ended meanwhile, or is not ours to look at
    return sum(held.values())


def boxes_within(processes: list[int]) -> set[int]:
    """Give the first processes of boxes within this one (apart.sh): with each ends all that runs in its box."""
    found = set()
    for process in processes:
        try:
            with open(f"/proc/{process}/status", "rb") as file:  # noqa: PTH123
                ids = file.read().partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
        except OSError:
            continue  # it ended meanwhile
        if len(ids) > 1 and ids[1] == b"1":
            found.add(process)
    return found


def reaped() -> list[tuple[int, int]]:
    """Collect every child that has ended, orphans too: (process id, wait status)."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if child == 0:
            return found
        found.append((child, status))


def set_limits(limits: dict[str, Any]) -> None:
    """Bound this process and its children. DATA, not AS: what is reserved but never written (node, Go) is not in it."""
    bounds = (
        (resource.RLIMIT_DATA, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, wanted in bounds:
        hard = resource.getrlimit(kind)[1]
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (bound, bound))


def process_ids() -> list[int]:
    """Give the ids of all processes that are visible here."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def strangers(spared: set[int]) -> set[int]:
    """Give the descendants of this process, zombies too, that are neither in `spared` nor descend from one that is."""
    parents: dict[int, int] = {}
    for process in process_ids():
        try:
            with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
                parents[process] = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue  # it ended meanwhile
    me = os.getpid()
    found = set()
    for process in parents:
        ancestor = process
        while ancestor != me and ancestor not in spared and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor == me and process != me:
            found.add(process)
    return found


def kill_strangers(spared: set[int]) -> None:
    """Kill all `strangers(spared)`. They are stopped first, so that none forks away between the look and the kill."""
    stopped: set[int] = set()
    for _ in range(KILL_ROUNDS):
        fresh = strangers(spared) - stopped
        if not fresh:
            break
        send(fresh, signal.SIGSTOP)
        stopped |= fresh
    send(stopped, signal.SIGKILL)


def send(processes: set[int], number: signal.Signals) -> None:
    """Signal each process; one that is gone is no error."""
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue


def read_file(path: str, cap: int) -> dict[str, Any]:
    """Give a regular file's text, head and tail where it is longer than `cap` bytes. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO without a writer must not hold us
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        return {"error": "is a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file"}
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        kept = Kept(cap)
        head = file.read(cap) or b""
        if b"\0" in head:
            return {"error": f"binary file of {info.st_size} bytes: use bash to look at it"}
        kept.add(head)
        while data := file.read(CHUNK):
            kept.add(data)
    return kept.reply()


def write_file(path: str, content: bytes) -> dict[str, Any]:
    """Make `path` hold `content`; folders that are missing are made. Raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return {"written": len(content)}


def send_all(number: signal.Signals) -> None:
    """Signal, as process 1, everything else in the box."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        return  # there is nothing else


def end() -> NoReturn:
    """End the sandbox: in a box the kernel kills the rest with us, else we do, until nothing is left."""
    if os.getpid() != 1:
        for _ in range(SETTLE_ROUNDS):
            kill_strangers(set())
            reaped()
            if not strangers(set()):
                break
            time.sleep(SETTLE_S)
    os._exit(0)


def send_line(descriptor: int, value: dict[str, Any]) -> None:
    """Write one JSON line, whole. Raises OSError where the other end is gone."""
    data = memoryview(json.dumps(value).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]


def main() -> None:
    """Take the socket from stdin, hide from the commands, and serve."""
    control = os.dup(0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) or libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl failed")
    supervisor = Supervisor(control, json.loads(os.read(control, CHUNK)))
    try:
        send_line(control, {"ready": True})
        supervisor.serve()
    except ConnectionError:
        end()  # the host went away without waiting for the answer
    end()


if __name__ == "__main__":
    main()
