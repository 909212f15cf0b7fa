"""Boxes as bubblewrap really makes them, and the pure builder of their command lines."""

import dataclasses
import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from wmo_kit.errors import Missing
from wmo_suites.box import Bind, bwrap_argv, check_bwrap
from wmo_suites.host import Host, survey


def inside(script: str, *, env: dict[str, str] | None = None, host: Host | None = None, **options: object) -> str:
    """Give what a bash script prints in a box, its errors among it."""
    argv = bwrap_argv(["bash", "-c", script], host=host or check_bwrap(), **options)
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


@pytest.fixture
def server_port() -> Iterator[int]:
    """A server on the host's loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def test_identity_is_the_same_everywhere() -> None:
    assert inside("id; whoami; hostname; pwd", chdir="/tmp").split("\n")[:4] == [
        "uid=1000(agent) gid=1000(agent) groups=1000(agent)",
        "agent",
        "wmo",
        "/tmp",
    ]


def test_no_secret_of_the_host_environment_is_anywhere() -> None:
    secret = {**os.environ, "WMO_API_KEY": "hunter2"}
    for init in (False, True):
        seen = inside("env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'", env=secret, as_pid_1=init)
        assert "hunter2" not in seen
        assert "HOME=/tmp" in seen


def test_environment_is_fixed_plus_what_the_caller_adds() -> None:
    argv = bwrap_argv(["env"], host=survey(), env={"EXTRA": "1"})
    lines = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert sorted(line.split("=")[0] for line in lines) == [
        "EXTRA",
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "SHELL",
        "TZ",
        "USER",
    ]


def test_network_is_refused_unless_asked_for(server_port: int) -> None:
    connect = f"exec 3<> /dev/tcp/127.0.0.1/{server_port} && echo connected"
    assert "refused" in inside(connect).lower()
    assert inside(connect, network=True) == "connected\n"


def test_no_home_and_a_read_only_root() -> None:
    home = Path.home()
    seen = inside(f"ls {home}; touch /usr/x /etc/x /x /dev/x; touch /tmp/x /dev/shm/x && echo writable")
    assert "No such file" in seen.splitlines()[0]
    assert seen.count("Read-only file system") == 4
    assert seen.endswith("writable\n")


def test_private_parts_of_etc_are_not_there() -> None:
    assert inside("ls /etc/shadow /etc/ssh /etc/gshadow /etc/machine-id 2>/dev/null") == ""


def test_capabilities_and_user_namespaces_are_gone() -> None:
    seen = inside("grep -E 'Cap(Eff|Prm|Bnd)' /proc/self/status; unshare -U true || echo no userns")
    assert seen.count("0000000000000000") == 3
    assert seen.endswith("no userns\n")


def test_processes_of_the_host_are_not_visible() -> None:
    assert str(os.getpid()) not in inside("echo /proc/[0-9]*").split()


def test_binds_are_read_only_or_writable(tmp_path: Path) -> None:
    for name in ("rw", "ro"):
        (tmp_path / name).mkdir()
    binds = [Bind(tmp_path / "rw", "/a/rw", writable=True), Bind(tmp_path / "ro", "/a/ro")]
    assert "Read-only" in inside("touch /a/rw/x; touch /a/ro/x", binds=binds)
    assert (tmp_path / "rw" / "x").exists()
    assert not (tmp_path / "ro" / "x").exists()


def test_tmp_has_a_size(tmp_path: Path) -> None:
    assert "No space left" in inside("head -c 2000000 /dev/zero > /tmp/big", tmp_bytes=1 << 20)


def test_the_hosts_network_comes_with_its_ways_to_look_names_up(tmp_path: Path) -> None:
    """A resolv.conf that is a link to elsewhere, as systemd's into /run, is shown as the file that it is."""
    (tmp_path / "stub").write_text("nameserver 127.0.0.53\n")
    host = dataclasses.replace(survey(), network_etc=(("resolv.conf", tmp_path / "stub"),))
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"cat /etc/resolv.conf; echo > /dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo reached"
        assert inside(script, host=host, network=True) == "nameserver 127.0.0.53\nreached\n"
        closed = inside(script, host=host)
    assert "resolv.conf: No such file" in closed
    assert "reached" not in closed
    assert dict(survey().network_etc)["hosts"] == Path("/etc/hosts").resolve()


def test_python_is_there_and_new_enough() -> None:
    assert inside("python3 -c 'import sys, sqlite3, ctypes; print(sys.version_info >= (3, 11))'") == "True\n"


def test_an_interpreter_from_elsewhere_works_at_opt_python() -> None:
    prefix = Path(sys.base_prefix)
    host = dataclasses.replace(
        survey(), python_prefix=prefix, python_libraries=tuple(prefix.glob("lib/libpython3*.so*"))
    )
    script = "python3 -c 'import sys, json, sqlite3; print(sys.prefix, sys.version_info[:2])'"
    assert inside(script, host=host) == f"/opt/python {sys.version_info[:2]}\n"


def test_builder_is_pure() -> None:
    host = Host(
        bwrap=Path("/b/bwrap"),
        usr_links=(("bin", "usr/bin"),),
        usr_folders=("lib",),
        etc=("magic",),
        own_etc=(Path("/ours/passwd"),),
        network_etc=(("hosts", Path("/run/hosts")),),
        python="/usr/bin/python3",
        python_prefix=None,
        python_libraries=(),
        can_disable_userns=False,
    )
    argv = bwrap_argv(["run", "--fast"], host=host, binds=[Bind(Path("/h"), "/i")], env={"A": "b"}, chdir="/i")
    line = " ".join(argv)
    assert argv[:2] == ["/usr/bin/env", "-i"]
    assert argv[argv.index("/b/bwrap") - 1] == "A=b"
    assert line.endswith("--remount-ro / --chdir /i -- run --fast")
    assert "--symlink usr/bin /bin --ro-bind /lib /lib --ro-bind /etc/magic /etc/magic" in line
    assert "--ro-bind /ours/passwd /etc/passwd" in line
    assert line.index("--ro-bind /h /i") < line.index("--remount-ro /")
    assert "--disable-userns" not in line
    assert "/run/hosts" not in line
    assert "--ro-bind /run/hosts /etc/hosts" in " ".join(bwrap_argv(["run"], host=host, network=True))


def test_a_missing_bubblewrap_is_69(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"no bubblewrap at '.*nowhere'.*--sandbox none") as caught:
        check_bwrap(tmp_path / "nowhere")
    assert caught.value.code == 69


def test_a_bubblewrap_that_fails_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: No space left on device' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(Missing, match=r"'bwrap: Creating new namespace failed.*sysctl.*--sandbox none"):
        check_bwrap(broken)
