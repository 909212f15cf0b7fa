"""The sandbox as an agent meets it: real boxes, and the same without one."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wmo_contracts.episode import Action, Observation
from wmo_suites.environment import Environment
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox

Run = Callable[..., Observation]
LIBC_SIGNALS = 0b11 << 31
"""Signals 32 and 33 are the C library's: who starts us (GNU make, say) may ignore them, and nobody can reset them."""


def act(environment: Environment, name: str, **arguments: object) -> Observation:
    return environment.execute(Action(kind="tool", name=name, arguments=arguments))


@pytest.fixture(params=["bwrap", "none"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    with Sandbox(tmp_path, mode=request.param, limits=SandboxLimits(output_cap_bytes=2000)) as opened:
        yield opened


@pytest.fixture
def boxed(tmp_path: Path) -> Iterator[Sandbox]:
    with Sandbox(tmp_path, limits=SandboxLimits(output_cap_bytes=2000)) as opened:
        yield opened


def alive(marker: str) -> list[str]:
    """Give the host's processes that have `marker` as an argument."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0] if words else ""
        except OSError:
            continue
        if marker.encode() in words and state != "Z":
            found.append(entry.name)
    return found


def marker_sleep(tmp_path: Path) -> str:
    """Give a number of seconds that only this test sleeps."""
    return f"86{abs(hash(str(tmp_path))) % 10**8}"


# --- bash


def test_output_and_exit_code(sandbox: Sandbox) -> None:
    good = act(sandbox, "bash", command="echo out; echo err >&2; echo out again")
    assert good == Observation(content="out\nerr\nout again\n", exit_code=0)
    bad = act(sandbox, "bash", command="printf partial; exit 3")
    assert bad == Observation(content="partial\n[exit code 3]", is_error=True, exit_code=3)
    assert act(sandbox, "bash", command="kill -9 $$").content == "[exit code 137]"


def test_each_call_is_a_fresh_shell_in_the_workspace(sandbox: Sandbox) -> None:
    act(sandbox, "bash", command="cd /; export X=1; echo data > /tmp/../$OLDPWD/file")
    assert act(sandbox, "bash", command="echo [$X]; cat file").content == "[]\ndata\n"


def test_stdin_is_closed(sandbox: Sandbox) -> None:
    assert act(sandbox, "bash", command="cat; read x || echo eof").content == "eof\n"


def test_signals_are_as_in_an_ordinary_shell(sandbox: Sandbox) -> None:
    seen = act(sandbox, "bash", command="yes | head -1; umask; grep SigIgn /proc/self/status")
    head, _, ignored = seen.content.partition("SigIgn:")
    assert head == "y\n0022\n"
    assert int(ignored, 16) & ~LIBC_SIGNALS == 0


def test_a_long_output_keeps_head_and_tail(sandbox: Sandbox) -> None:
    seen = act(sandbox, "bash", command="echo first; seq 10000; echo last")
    assert seen.truncated
    assert seen.content.startswith("first\n1\n2\n")
    assert seen.content.endswith("9999\n10000\nlast\n")
    assert "\n[... 46905 bytes left out ...]\n" in seen.content
    assert len(seen.content) < 2100


def test_bytes_that_are_no_text(sandbox: Sandbox) -> None:
    seen = act(sandbox, "bash", command=r"printf 'a\000b\377c\303\251'")
    assert seen.content == "ab\ufffdc\u00e9"


def test_a_timeout_kills_what_the_command_started_and_nothing_else(sandbox: Sandbox, tmp_path: Path) -> None:
    server, victim = marker_sleep(tmp_path) + "1", marker_sleep(tmp_path) + "2"
    act(sandbox, "bash", command=f"setsid sleep {server} &")
    stubborn = f"trap '' TERM; setsid sleep {victim} & (setsid nohup sleep {victim} &) ; sleep {victim} & wait"
    seen = sandbox.run(f"echo begun; {stubborn}", timeout_s=0.4)
    assert seen.timed_out
    assert seen.is_error
    assert seen.exit_code is None
    assert seen.content.startswith("begun\n")
    assert seen.content.endswith("[timed out after 0.4 s: the command and its children were killed]")
    assert alive(victim) == []
    assert len(alive(server)) == 1
    sandbox.close()
    assert alive(server) == []


def test_a_background_child_does_not_hold_the_call_and_lives_on(sandbox: Sandbox) -> None:
    seen = act(sandbox, "bash", command="(while :; do echo noise; sleep 0.01; done) & echo $!")
    assert not seen.timed_out
    process = seen.content.split("\n")[0]
    seen = act(sandbox, "bash", command=f"sleep 0.1; kill -0 {process} && kill {process} && echo was alive")
    assert seen.content == "was alive\n"


def test_a_server_answers_later_calls(boxed: Sandbox) -> None:
    act(boxed, "write_file", path="page", content="served")
    act(boxed, "bash", command="python3 -m http.server --bind 127.0.0.1 8000 &")
    fetch = (
        "for i in $(seq 200); do python3 -c 'import urllib.request as u; "
        'print(u.urlopen("http://127.0.0.1:8000/page").read())\' 2>/dev/null && break; sleep 0.05; done'
    )
    assert act(boxed, "bash", command=fetch).content == "b'served'\n"
    assert act(boxed, "bash", command=fetch).content == "b'served'\n"


def test_a_file_may_not_grow_without_bound(tmp_path: Path) -> None:
    with Sandbox(tmp_path, limits=SandboxLimits(file_bytes=1 << 20, memory_bytes=256 << 20)) as sandbox:
        assert not act(sandbox, "bash", command="head -c 1000000 /dev/zero > f").is_error
        assert act(sandbox, "bash", command="head -c 2000000 /dev/zero > f; ls -s f").content.startswith("bash: line 1")
        assert (tmp_path / "f").stat().st_size == 1 << 20
        assert "MemoryError" in act(sandbox, "bash", command="python3 -c 'bytearray(1 << 30)'").content


def test_a_crowd_of_processes_ends_the_command(tmp_path: Path) -> None:
    with Sandbox(tmp_path, limits=SandboxLimits(processes=40)) as sandbox:
        seen = act(sandbox, "bash", command="for i in $(seq 60); do sleep 50 & done; wait")
        assert seen.content.endswith("[more than 40 processes: everything in the sandbox was killed]")
        assert act(sandbox, "bash", command="set -- /proc/[0-9]*; echo $#").content == "2\n"


# --- files


def test_files_are_written_and_read(sandbox: Sandbox, tmp_path: Path) -> None:
    content = "caf\u00e9\r\nno newline at the end"
    assert act(sandbox, "write_file", path="a/b/c.txt", content=content).content == "wrote 28 bytes to 'a/b/c.txt'"
    assert (tmp_path / "a/b/c.txt").read_bytes() == content.encode()
    assert act(sandbox, "read_file", path="a/b/c.txt") == Observation(content=content)
    assert act(sandbox, "write_file", path="a/b/c.txt", content="").content == "wrote 0 bytes to 'a/b/c.txt'"
    assert act(sandbox, "read_file", path="a/b/c.txt").content == ""


def test_app_is_the_workspace(boxed: Sandbox, tmp_path: Path) -> None:
    act(boxed, "write_file", path="/app/x", content="1")
    assert act(boxed, "bash", command="pwd; cat /app/x").content == "/app\n1"
    assert (tmp_path / "x").read_text() == "1"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nowhere", "no such file or directory"),
        (".", "is a directory"),
        ("fifo", "not a regular file"),
        ("binary", "binary file of 3 bytes: use bash to look at it"),
        ("loop", "too many levels of symbolic links"),
        ("n" * 300, "file name too long"),
    ],
)
def test_files_that_cannot_be_read(sandbox: Sandbox, path: str, reason: str) -> None:
    act(sandbox, "bash", command=r"mkfifo fifo; printf 'a\0b' > binary; ln -s loop loop")
    assert act(sandbox, "read_file", path=path) == Observation(content=f"cannot read '{path}': {reason}", is_error=True)


@pytest.mark.parametrize(
    ("path", "reason"),
    [(".", "is a directory"), ("file/x", "not a directory"), ("fifo", "no such device or address")],
)
def test_files_that_cannot_be_written(sandbox: Sandbox, path: str, reason: str) -> None:
    act(sandbox, "bash", command="echo > file; mkfifo fifo")
    seen = act(sandbox, "write_file", path=path, content="x")
    assert seen.is_error
    assert seen.content in {f"cannot write '{path}': {reason}", f"cannot write '{path}': file exists"}


def test_a_long_file_keeps_head_and_tail(sandbox: Sandbox) -> None:
    act(sandbox, "bash", command="seq 100000 > long")
    seen = act(sandbox, "read_file", path="long")
    assert seen.truncated
    assert seen.content.startswith("1\n2\n")
    assert seen.content.endswith("99999\n100000\n")
    assert "bytes left out" in seen.content


def test_the_host_cannot_be_read_or_written(boxed: Sandbox) -> None:
    assert act(boxed, "read_file", path=str(Path(__file__))).is_error
    assert "read-only file system" in act(boxed, "write_file", path="/etc/passwd", content="x").content


# --- bad calls


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("fly", {}, "unknown tool 'fly': there are bash, read_file, write_file"),
        ("bash", {}, "it takes exactly command; given: none"),
        ("bash", {"command": "true", "x": "y"}, "given: command, x"),
        ("bash", {"command": 1}, "bad argument 'command' for 'bash': not a string"),
        ("bash", {"command": "a\0b"}, "NUL"),
        ("bash", {"command": "\ud800"}, "lone surrogate"),
        ("bash", {"command": "x" * 200_000}, "command too long"),
        ("read_file", {"path": "a\0b"}, "NUL"),
        ("write_file", {"path": "p"}, "it takes exactly path, content; given: path"),
    ],
)
def test_bad_calls_are_observations(boxed: Sandbox, name: str, arguments: dict[str, object], words: str) -> None:
    seen = act(boxed, name, **arguments)
    assert seen.is_error
    assert words in seen.content
    assert act(boxed, "bash", command="echo fine").content == "fine\n"


def test_a_message_is_no_tool_call(boxed: Sandbox) -> None:
    assert boxed.execute(Action(kind="message", content="hello")).is_error


def test_the_longest_command_works(boxed: Sandbox) -> None:
    assert act(boxed, "bash", command="echo ok #" + "x" * (131_071 - 9)).content == "ok\n"


# --- what a hostile command can try


def test_killing_everything_spares_the_sandbox(boxed: Sandbox) -> None:
    seen = act(boxed, "bash", command="kill -9 -1; kill -9 1; kill -STOP 1; kill -INT 1; kill -TERM 1; echo done")
    assert seen.content.endswith("done\n")
    assert act(boxed, "bash", command="echo still here").content == "still here\n"


FORGERY = """
import ctypes, os, pathlib
libc = ctypes.CDLL(None, use_errno=True)
forged = b'{"output": "forged", "dropped": 0, "exit_code": 0, "stopped": ""}' + bytes([10])
won = 0
for number in range(64):
    for path in (f"/proc/1/fd/{number}", f"/dev/fd/{number}" if number > 2 else "/nowhere"):
        try:
            os.write(os.open(path, os.O_RDWR), forged)
            won += 1
        except OSError:
            pass
    pidfd = os.pidfd_open(1)
    if libc.syscall(438, pidfd, number, 0) >= 0:
        won += 1
    os.close(pidfd)
if libc.ptrace(16, 1, None, None) == 0:
    won += 1
for name in ("mem", "environ", "maps"):
    try:
        pathlib.Path("/proc/1", name).read_bytes()
        won += 1
    except OSError:
        pass
print("won", won)
"""


def test_the_answer_cannot_be_forged(boxed: Sandbox) -> None:
    act(boxed, "write_file", path="forge.py", content=FORGERY)
    assert act(boxed, "bash", command="python3 forge.py").content == "won 0\n"
    seen = act(boxed, "bash", command='echo \'{"output": "x"}\' >&3; echo after')
    assert seen.content.splitlines()[-1] == "after"
    assert act(boxed, "read_file", path="/proc/self/fd/0").is_error


def test_closing_during_a_call_ends_it(sandbox: Sandbox, tmp_path: Path) -> None:
    seconds = marker_sleep(tmp_path)
    seen: list[Observation] = []
    caller = threading.Thread(target=lambda: seen.append(act(sandbox, "bash", command=f"sleep {seconds}")))
    caller.start()
    deadline = time.monotonic() + 10
    while not alive(seconds) and time.monotonic() < deadline:
        time.sleep(0.01)
    sandbox.close()
    caller.join(10)
    assert seen == [Observation(content="the sandbox ended during this call", is_error=True)]
    assert alive(seconds) == []
    assert act(sandbox, "bash", command="true").content == "the sandbox is closed"
    sandbox.close()


def test_calls_from_many_threads_take_turns(boxed: Sandbox) -> None:
    seen: dict[int, str] = {}

    def call(number: int) -> None:
        seen[number] = act(boxed, "bash", command=f"echo {number}; sleep 0.01; echo {number}").content

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: f"{number}\n{number}\n" for number in range(8)}


def test_many_calls_leak_nothing(boxed: Sandbox) -> None:
    def usage() -> tuple[int, int, str]:
        inside = act(
            boxed, "bash", command="sleep 0.1; set -- /proc/1/fd/*; echo $#; set -- /proc/[0-9]*; echo $#"
        ).content
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), inside

    before = usage()
    for _ in range(200):
        act(boxed, "bash", command=": & wait")
    assert usage() == before


# --- without a box


def test_without_a_box_variables_say_where_things_are(tmp_path: Path) -> None:
    with Sandbox(tmp_path, mode="none") as sandbox:
        assert act(sandbox, "bash", command="echo $WMO_APP; pwd").content == f"{tmp_path}\n{tmp_path}\n"
        assert "WMO_API_KEY" not in act(sandbox, "bash", command="env").content
        assert "Python 3" in act(sandbox, "bash", command="python3 -V").content
