"""The process that opens listening sockets in other processes' network namespaces, one after the other.

A program of its own, `python3 -I -S netns_helper.py`: to enter a user namespace a process must have one thread, and no
way leads back. So each socket is opened by a fork of this small process and handed over; the namespaces belong to boxes
of ours, in whose user namespaces we have every capability. Requests come as "PID PORT" datagrams on the socket that is
stdin; the answer is "ok" with the descriptor, or the reason. The end of that socket is our end.
"""

import ctypes
import fcntl
import os
import signal
import socket

NS_GET_USERNS = 0xB701  # linux/nsfs.h
REQUEST_BYTES = 64
BACKLOG = 64


def enter(process: int) -> None:
    """Move into the network namespace of `process`, through the user namespace that owns it. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    owner = fcntl.ioctl(network, NS_GET_USERNS)
    for namespace in (owner, network):
        if libc.setns(namespace, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), f"setns to process {process}")


def answer(control: socket.socket, process: int, port: int) -> None:
    """Send a socket that listens on `port` where `process` is, or say why there is none."""
    try:
        enter(process)
        listener = socket.socket()
        # any address: the namespace has its loopback alone, which may not be up yet and is then no address to bind to
        listener.bind(("0.0.0.0", port))  # noqa: S104
        listener.listen(BACKLOG)
    except OSError as error:
        control.send(str(error).encode())
    else:
        socket.send_fds(control, [b"ok"], [listener.fileno()])


def main() -> None:
    """Serve until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=0)
    while request := control.recv(REQUEST_BYTES):
        process, port = map(int, request.split())
        child = os.fork()
        if child == 0:
            try:
                answer(control, process, port)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
