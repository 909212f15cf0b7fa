"""A disk that a test may fill: a tmpfs of its own, in a forked process with mounts of its own. Needs no root."""

import ctypes
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000  # linux/sched.h
MS_RDONLY, MS_REMOUNT, MS_REC, MS_PRIVATE = 1, 32, 16384, 1 << 18  # linux/mount.h
PAGE = os.sysconf("SC_PAGE_SIZE")


class SmallDisk:
    """The disk, mounted at `place`. A file in it takes up what nobody else is to have."""

    def __init__(self, place: Path, size: int) -> None:
        self.place = place
        self.filler = place / "filler"
        self._options = f"size={size}".encode()

    def free(self) -> int:
        found = os.statvfs(self.place)
        return found.f_bfree * found.f_frsize

    def leave(self, size: int) -> None:
        """Fill the disk until `size` bytes are left, rounded down to pages."""
        self.filler.unlink(missing_ok=True)
        with self.filler.open("wb") as file:
            while (over := self.free() - size) >= PAGE:
                file.write(bytes(min(over // PAGE * PAGE, 1 << 20)))
                file.flush()

    def clear(self) -> None:
        """Give the room back."""
        self.filler.unlink()

    def mount(self, flags: int = 0) -> None:
        _libc("mount", b"tmpfs", os.fsencode(self.place), b"tmpfs", flags, self._options)

    def resize(self, size: int) -> None:
        """Give it another size, as a larger disk would have."""
        self._options = f"size={size}".encode()
        self.mount(MS_REMOUNT)

    def protect(self, now: bool) -> None:
        """Make it read-only, or writable again."""
        self.mount(MS_REMOUNT | (MS_RDONLY if now else 0))


def on_small_disk(place: Path, work: Callable[[SmallDisk], Any], size: int = 1 << 20) -> None:
    """Do `work` in a forked process that has a tmpfs of `size` bytes at `place`; a failure there fails the test."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read_end)
            disk = SmallDisk(place, size)
            _enter_namespace()
            place.mkdir()
            disk.mount()
            work(disk)
            code = 0
        except BaseException:  # noqa: BLE001  the parent raises it
            os.write(write_end, traceback.format_exc().encode())
        finally:
            os._exit(code)  # the child must never return into pytest
    os.close(write_end)
    with os.fdopen(read_end, "rb") as report:
        said = report.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"on the small disk:\n{said}"


def _enter_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    _libc("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _libc("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)


def _libc(function: str, *arguments: Any) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
