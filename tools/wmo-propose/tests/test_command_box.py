"""What a command may not do in its box, and what is told of it; what is opened, where the user says so."""

import contextlib
import hashlib
import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wmo_kit.stopping import Stop
from wmo_propose.command_proposer import Boxed, CommandProposer
from wmo_propose.turn import Turn
from wmo_propose.workspace import Workspace
from wmo_suites.allowed import Allowed
from wmo_suites.held_box import BoxLimits

TOOL = Path(sys.executable).parent / "wmo-propose"
SECRET = "sk-proposer-77aa12cd"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()
SMALL = BoxLimits(memory_bytes=256 << 20, file_bytes=8 << 20, processes=60, tmp_bytes=4 << 20)
MARK = "86417"
"""Seconds that only this module sleeps."""


def propose(run: Path, **env: str) -> tuple[int, str]:
    """Run the tool; give its exit code and its stderr."""
    done = subprocess.run(
        [TOOL, "--run", run], env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.fixture
def server() -> Iterator[int]:
    """A server on the host's loopback that says "hello"."""

    class Hello(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"hello\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Hello) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
        thread.start()
        yield listening.server_address[1]
        listening.shutdown()
        thread.join()


def call(port: int) -> str:
    """Give a line of bash that asks the server."""
    return f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"


ATTEMPTS = {
    "the network": ("{call}", "hello"),
    "the key": ("{{ env; cat /proc/[0-9]*/environ; }} | tr '\\0' '\\n'", SECRET),
    "the keys of the user's files": ("cat {home}/.key ~/.key", SECRET),
    "other processes": ("ls -d /proc/[0-9]*/ | wc -l | awk '$1 > 9 {{ print \"many\" }}'", "many"),
    "a verifier": ("cat {run}/suite/csv/tests/test.sh; find / -name test.sh -exec cat {{}} +", "WITHOUT"),
    "the record": ("cat {run}/run.json {run}/state.json", "settings"),
    "the host's users": ("cat /etc/shadow", "root:"),
    "a device": ("mknod candidate/disk b 8 0 && echo made; ls /dev/sda /dev/kmsg", "made"),
    "the host's files": ("echo spoilt > {home}/.profile; cat {home}/.profile", "honest"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_nothing_of_the_host_is_within_reach(
    make_run: Callable, tmp_path: Path, server: int, monkeypatch: pytest.MonkeyPatch, attempt: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".key").write_text(SECRET)
    (home / ".profile").write_text("honest\n")
    monkeypatch.setenv("HOME", str(home))
    line, prize = ATTEMPTS[attempt]
    line = line.format(call=call(server), home=home, run=tmp_path / "run")
    made = make_run("bash", "-c", f"{{ {line}; }} | tee candidate/prize.txt; echo x >> candidate/SYSTEM.md; exit 0")
    (made.dir / "suite/csv/tests/test.sh").write_text("# WITHOUT IT, NOBODY KNOWS\n")
    code, stderr = propose(made.dir, WMO_API_KEY=SECRET, PROPOSER_KEY=SECRET)
    assert code == 0, stderr
    events = made.json("proposals/slot-0001/events.json")
    assert prize not in events["stdout"] + (made.layout.source_dir(1) / "prize.txt").read_text()
    assert events["stderr"] or attempt in {"the key", "other processes"}  # the refusal is in the evidence
    assert (home / ".profile").read_text() == "honest\n"


def test_what_is_allowed_is_there_and_stands_in_no_file(make_run: Callable, out: Path, server: int) -> None:
    (out / "notes").mkdir()
    (out / "notes/read.txt").write_text("read me")
    (out / "kept").mkdir()
    script = f"""
{{ {call(server)}; }} > candidate/hello.txt
printf %s "$PROPOSER_KEY" | sha256sum > candidate/digest.txt
echo "my key is $PROPOSER_KEY"; echo "it is $PROPOSER_KEY" >&2
cp {out}/notes/read.txt candidate/read.txt
echo spoilt > {out}/notes/read.txt
echo session > {out}/kept/session
echo "$HOME" > candidate/home.txt; echo state > ~/.agent
echo x >> candidate/SYSTEM.md
"""
    allow = ["network", "env:PROPOSER_KEY", f"read:{out}/notes", f"write:{out}/kept"]
    made = make_run("bash", "-c", script, allow=allow)
    code, stderr = propose(made.dir, PROPOSER_KEY=SECRET)
    assert code == 0, stderr
    source = made.layout.source_dir(1)
    assert (source / "hello.txt").read_text() == "hello\n"
    assert (source / "digest.txt").read_text().split()[0] == DIGEST
    assert (source / "read.txt").read_text() == (out / "notes/read.txt").read_text() == "read me"
    assert (source / "home.txt").read_text() == "/tmp\n"
    assert (out / "kept/session").read_text() == "session\n"
    assert made.json("proposals/slot-0001/events.json")["stdout"] == "my key is [PROPOSER_KEY]\n"
    files = [path for path in made.dir.rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("allow", "code", "words"),
    [
        ("env:PROPOSER_KEY", 69, "no variable 'PROPOSER_KEY'"),
        ("read:{out}/gone", 69, "nothing at '{out}/gone'"),
        ("read:{run}/suite/csv", 2, "it would open '{run}"),
        ("read:{out}/link", 2, "it would open '{run}"),
        ("write:{top}", 2, "it would open '{run}"),
        ("read:/", 2, "the whole machine is never opened"),
        ("read:/proc", 2, "a box has its own"),
    ],
)
def test_what_cannot_be_opened_is_named_and_nothing_is_consumed(
    make_run: Callable, tmp_path: Path, out: Path, allow: str, code: int, words: str
) -> None:
    places = {"out": out, "run": tmp_path / "run", "top": tmp_path}
    (out / "link").symlink_to(tmp_path / "run/suite/csv/tests")
    made = make_run("bash", "-c", "true", allow=[allow.format(**places)])
    found, stderr = propose(made.dir)
    assert found == code
    assert words.format(**places) in stderr
    assert len(made.json("state.json")["outcomes"]) == 1


def test_a_command_outside_the_box_is_named_with_the_option_that_shows_it(make_run: Callable, out: Path) -> None:
    (out / "lib").mkdir()
    (out / "bin").mkdir()
    (out / "lib/agent.sh").write_text("#!/bin/sh\necho x >> candidate/SYSTEM.md\n")
    (out / "lib/agent.sh").chmod(0o755)
    (out / "bin/agent").symlink_to(out / "lib/agent.sh")
    path = f"{out}/bin:{os.environ['PATH']}"
    made = make_run("agent")
    code, stderr = propose(made.dir, PATH=path)
    assert code == 69
    assert f"the proposer command '{out}/bin/agent' is not to be seen in its box" in stderr
    assert f"add '--allow read:{out}'" in stderr
    opened = made.reopened(f"read:{out}")
    assert propose(opened, PATH=path)[0] == 0


# --- what it may use, with small limits


def running() -> list[bytes]:
    """Give the command lines that sleep for MARK seconds."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended while we looked
            lines.append(path.read_bytes())
    return [line for line in lines if f"\0{MARK}\0".encode() in line]


def take_turn(tmp_path: Path, script: str, *, stored_bytes: int = 8 << 20, wall_s: float = 30.0) -> Turn:
    root = tmp_path / "work"
    for name in ("candidate", "history"):
        (root / name).mkdir(parents=True)
    (root / "REQUEST.md").write_text("Do it.\n")
    proposer = CommandProposer(
        ("bash", "-c", script), Boxed(Allowed(), {}), limits=SMALL, stored_bytes=stored_bytes, wall_s=wall_s
    )
    return proposer.take_turn(Workspace(root, ()), Stop())


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (f"for i in $(seq 200); do sleep {MARK} & done; wait", "more than 60 processes"),
        (f"while true; do sleep {MARK} & done", "more than 60 processes"),
        (
            "for i in 1 2 3 4; do python3 -c 'import time; x = b\"x\" * (100 << 20); time.sleep(99)' & done; wait",
            "256 MiB",
        ),
        ("for i in $(seq 99); do head -c 1000000 /dev/zero > candidate/f$i; done; sleep 99", "8 MiB of files"),
        ("cd candidate; for i in $(seq 9999); do : > f$i; done; sleep 99", "8 MiB of files"),
    ],
)
def test_what_is_used_too_much_of_ends_the_turn_and_is_named(tmp_path: Path, script: str, problem: str) -> None:
    turn = take_turn(tmp_path, script)
    assert turn.stop_reason == "excess"
    assert problem in turn.problem
    assert turn.problem.endswith("everything in its box was killed")
    assert turn.events["excess"] in turn.problem
    assert not turn.cut_short
    assert not running()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("python3 -c 'b\"x\" * (64 << 30)'", "MemoryError"),
        ("head -c 9000000 /dev/zero > candidate/big", "File size limit exceeded|File too large"),
        ("head -c 6000000 /dev/zero > /tmp/big", "No space left"),
    ],
)
def test_one_limit_of_a_process_is_told_by_the_process_itself(tmp_path: Path, script: str, words: str) -> None:
    turn = take_turn(tmp_path, f"{script}; echo status $?")
    assert "status 0" not in turn.events["stdout"]
    told = turn.events["stderr"] + turn.events["stdout"]
    assert any(word in told for word in words.split("|")), told


def test_a_command_that_hangs_is_ended_with_its_daemons(tmp_path: Path) -> None:
    turn = take_turn(tmp_path, f"setsid sleep {MARK} & trap '' TERM; sleep {MARK}", wall_s=0.5)
    assert turn.problem == "the command took longer than 0.5 s"
    assert not running()


def test_odd_files_are_each_named_and_end_no_run(make_run: Callable) -> None:
    script = """
cd candidate; mkfifo pipe; ln -s /etc/passwd link; echo x > one; ln one two
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
python3 -c '
import os
open(b"\\xff\\x1b[31m", "w")
os.mkdir("deep"); os.chdir("deep")
for _ in range(3000): os.mkdir("d"); os.chdir("d")
'
"""
    made = make_run("bash", "-c", script)
    code, stderr = propose(made.dir)
    assert code == 1, stderr
    reasons = "\n".join(made.json("proposals/slot-0001/status.json")["reasons"])
    for words in ("'pipe' is a FIFO", "symlink in a tree: 'link'", "hard link in a tree: 'one' has 2 names",
                  "'sock' is a socket", "path too long: 'deep/d/d", "bad path '\\udcff\\x1b"):  # fmt: skip
        assert words in reasons
    assert not made.layout.work.exists()
    assert json.loads((made.dir / "state.json").read_text())["outcomes"][1]["kind"] == "invalid"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("cd candidate; mkdir many; cd many; seq 100000 | xargs touch", "too many files"),
        ("head -c 100M /dev/zero > candidate/a-big-one", "tree too large: 'a-big-one' goes past 8388608 bytes"),
    ],
)
def test_too_much_in_candidate_is_a_reason(make_run: Callable, script: str, words: str) -> None:
    made = make_run("bash", "-c", script)
    code, stderr = propose(made.dir)
    assert code == 1, stderr
    assert words in stderr
