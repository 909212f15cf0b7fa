"""The whole loop, stopped at every stage in every way, two on one run, and two side by side."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from processes import alive, command_lines, descendants, wait_gone, wait_until

BIN = Path(sys.executable).parent
INIT = "wmo-state init {run} --seed pi --suite suites/starter --slots 1 --tasks csv-repair,permissions"


def start(root: Path, run: Path, *command: str, **options) -> subprocess.Popen:
    """Start a loop in a process group of its own, with a temporary folder of its own beside the run."""
    temp = run.parent / "tmp"
    temp.mkdir(exist_ok=True)
    argv = command or (BIN / "invoke", "resume", "--run", str(run), "--jobs", "1")
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "start_new_session": True, **options}
    return subprocess.Popen(argv, cwd=root, env={**os.environ, "TMPDIR": str(temp)}, text=True, **options)


def made(shell, run: Path) -> Path:
    done = shell(INIT.format(run=run))
    assert done.returncode == 0, done.stderr
    return run


@pytest.fixture(scope="module")
def pair(root, shell, tmp_path_factory):
    """Two runs that were worked on at the same time to their end, and the files of vendor/ that changed meanwhile."""
    runs = [made(shell, tmp_path_factory.mktemp(name) / "run") for name in ("left", "right")]
    began = time.time()
    loops = [start(root, run) for run in runs]
    for loop in loops:
        _, words = loop.communicate(timeout=300)
        assert loop.returncode == 0, words
    written = [path for path in (root / "vendor").rglob("*") if path.lstat().st_mtime > began]
    return runs, written


def test_two_runs_side_by_side_share_nothing(pair, evidence):
    runs, written = pair
    assert evidence(runs[0]) == evidence(runs[1])
    assert json.loads((runs[0] / "state.json").read_text())["outcomes"][1]["kind"] == "scored"
    assert written == []
    for run in runs:
        assert list((run.parent / "tmp").iterdir()) == []
        assert not [path for path in run.iterdir() if path.name.startswith(".")]


def to_leader(number):
    return lambda loop: loop.send_signal(number)


def to_group(number, times=1):
    def send(loop):
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(loop.pid, number)

    return send


SEED, CANDIDATE, TURN = "candidates/candidate-0000", "candidates/candidate-0001", "proposals/slot-0001"
STOPS = (
    (".lock", to_leader(signal.SIGTERM), 143),
    (f"{SEED}/trials/*/attempt-1/episode.json", to_group(signal.SIGINT, times=3), 130),
    (f"{SEED}/trials/*/attempt-1/cell.json", to_group(signal.SIGHUP), 129),
    (f"{TURN}/REQUEST.md", to_leader(signal.SIGINT), 130),
    (f"{TURN}/status.json", to_group(signal.SIGTERM), 143),
    (f"{CANDIDATE}/trials/*/attempt-1/episode.json", to_leader(signal.SIGHUP), 129),
)
"""What is on disk when the loop is stopped, how, and its exit code."""


def test_stopped_again_and_again_it_ends_as_if_nothing_had_been(root, shell, pair, evidence, tmp_path):
    run = made(shell, tmp_path / "run")
    for moment, stop, code in STOPS:
        loop = start(root, run)
        wait_until(lambda moment=moment: any(run.glob(moment)), loop)
        below = descendants(loop.pid)
        stop(loop)
        _, words = loop.communicate(timeout=60)
        assert loop.returncode == code, words
        left = alive(below)
        assert left == [], (moment, command_lines(left))
        assert not [path for path in run.iterdir() if path.name in (".lock", ".step.lock", ".work")], moment
        assert list((tmp_path / "tmp").iterdir()) == [], moment
    loop = start(root, run)
    assert loop.wait(300) == 0
    found, wanted = evidence(run), evidence(pair[0][0])
    turn_cut = f"{TURN}/attempt-1/"
    assert {f"{turn_cut}REQUEST.md", f"{turn_cut}events.json"} <= found.keys()
    assert {name: content for name, content in found.items() if not name.startswith(turn_cut)} == wanted
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["scored", "accepted", "scored"]


def test_the_second_loop_is_told_who_has_the_run_and_a_dead_ones_lock_is_free(root, shell, tmp_path):
    run = made(shell, tmp_path / "run")
    first = start(root, run)
    wait_until(lambda: any(run.glob(f"{SEED}/trials/*/attempt-1/episode.json")), first)
    os.killpg(first.pid, signal.SIGSTOP)  # it must not end before the others have tried
    told = f"in use by process {first.pid} on host '{socket.gethostname()}'"
    for line, code in ((f"invoke run --run {run}", 75), (f"make run RUN={run}", 2), (f"wmo-score --run {run}", 75)):
        done = shell(line)
        assert done.returncode == code, done.stderr
        assert told in done.stderr
        assert ("Error 75" in done.stderr) == ("make" in line)
    assert shell(f"wmo-state status {run}").returncode == 0
    below = descendants(first.pid)
    os.killpg(first.pid, signal.SIGCONT)
    first.kill()
    first.communicate()
    wait_gone(below)  # the kernel tells them
    assert shell(f"wmo-state hold {run} -- wmo-state init {run}").returncode == 0

    loop = start(root, run, "make", "run", f"RUN={run}")
    wait_until(lambda: any(run.glob(f"{TURN}/REQUEST.md")), loop)
    below = descendants(loop.pid)
    loop.send_signal(signal.SIGTERM)
    loop.communicate(timeout=60)
    assert loop.returncode == -signal.SIGTERM  # what a shell calls 143
    assert alive(below) == []
    assert not (run / ".lock").exists()


def test_a_terminal_that_goes_away_leaves_nobody_behind(root, shell, tmp_path):
    run = made(shell, tmp_path / "run")
    ours, theirs = pty.openpty()

    def take_terminal():
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    loop = start(root, run, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal)
    os.close(theirs)
    wait_until(lambda: any(run.glob(f"{SEED}/trials/*/attempt-1/episode.json")), loop)
    below = descendants(loop.pid)
    os.close(ours)
    assert loop.wait(60) == 129
    assert alive(below) == []
    assert not (run / ".lock").exists()
    assert list(run.glob(f"{SEED}/trials/*/attempt-1.partial"))


STOPPED_AMID_EXEC = """
import os, signal, sys
import tasks

become = os.execv

def stopped(*program):
    os.kill(os.getpid(), signal.SIGTERM)
    become(*program)

os.execv = stopped
tasks.hold(sys.argv[1], "1")
"""


def test_a_signal_while_one_program_becomes_the_other_is_heard_by_the_other(root, shell, tmp_path):
    run = made(shell, tmp_path / "run")
    loop = start(root, run, sys.executable, "-c", STOPPED_AMID_EXEC, str(run))
    _, words = loop.communicate(timeout=60)
    assert (loop.returncode, words) == (143, "wmo-state: terminated\n")
