"""The process that enters the namespaces of boxes, one after the other, and does there what can only be done inside.

A program of its own, `python3 -I -S box_helper.py`: to enter a user namespace a process must have one thread, and no
way leads back. So each request is answered by a fork of this small process; the namespaces belong to boxes of ours, in
whose user namespaces we have every capability. Requests come as "PID PORT PIDS" datagrams on the socket that is stdin:
with a PORT that is not 0, a socket that listens there comes back; with PIDS that are not 0, the box's kernel gives out
so many process ids at most. The answer is "ok", or the reason. The end of that socket is our end.
"""

import ctypes
import fcntl
import os
import re
import signal
import socket

NS_GET_USERNS = 0xB701  # linux/nsfs.h
CLONE_NEWNS = 0x20000  # linux/sched.h
MS_REC_PRIVATE = 0x44000  # linux/mount.h
REQUEST_BYTES = 64
BACKLOG = 64
OWN_PID_MAX_SINCE = (6, 14)
"""Before this Linux, pid_max was one for the whole machine: it must not be touched then."""


def called(result: int, what: str) -> None:
    """Raise OSError where a call of libc failed."""
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


def answer(control: socket.socket, process: int, port: int, pids: int) -> None:
    """Do what is asked for the box of `process`, and say so."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        network, ids = (os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY) for kind in ("net", "pid"))
        called(libc.setns(fcntl.ioctl(ids, NS_GET_USERNS), 0), "setns to a box's user namespace")
        if pids and linux() >= OWN_PID_MAX_SINCE:
            bound_pids(libc, ids, pids)
        listener = listen(libc, network, port) if port else None
    except OSError as error:
        control.send(str(error).encode())
    else:
        socket.send_fds(control, [b"ok"], [] if listener is None else [listener.fileno()])


def listen(libc: ctypes.CDLL, network: int, port: int) -> socket.socket:
    """Give a socket that listens in a network namespace. Raises OSError."""
    called(libc.setns(network, 0), "setns to a box's network")
    listener = socket.socket()
    # any address: the namespace has its loopback alone, which may not be up yet and is then no address to bind to
    listener.bind(("0.0.0.0", port))  # noqa: S104
    listener.listen(BACKLOG)
    return listener


def bound_pids(libc: ctypes.CDLL, ids: int, pids: int) -> None:
    """Have the kernel refuse a process more in a PID namespace; without a word where it cannot: others look as well."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        called(libc.setns(ids, 0), "setns to a box's processes")
        inside = os.fork()  # only a child is in the namespace
        if inside == 0:
            called(libc.unshare(CLONE_NEWNS), "unshare")
            called(libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "private mounts")
            called(libc.mount(b"proc", b"/proc", b"proc", 0, None), "mount of proc")
            descriptor = os.open("/proc/sys/kernel/pid_max", os.O_WRONLY)
            os.write(descriptor, str(pids).encode())
            os._exit(0)
        os.waitpid(inside, 0)
    finally:
        os._exit(0)


def linux() -> tuple[int, ...]:
    """Give the kernel's version, its first two numbers."""
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])


def main() -> None:
    """Serve until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=0)
    while request := control.recv(REQUEST_BYTES):
        process, port, pids = map(int, request.split())
        child = os.fork()
        if child == 0:
            try:
                answer(control, process, port, pids)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
