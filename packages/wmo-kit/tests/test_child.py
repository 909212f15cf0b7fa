"""Child processes: budgets hold, groups die, pipes never block."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from wmo_kit import child
from wmo_kit.bell import Bell
from wmo_kit.child import run_child, started_child


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_output_input_and_code_come_through():
    result = run_child(["sh", "-c", "cat; echo err >&2; exit 7"], stdin=b"in", wall_s=10)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"in", b"err\n")
    assert not result.timed_out


def test_floods_on_both_streams_are_drained_and_cut_in_the_middle():
    code = "import sys; sys.stdout.write('a'*(1<<20)); sys.stderr.write('b'*(1<<20)); print('end')"
    result = run_child([sys.executable, "-c", code], wall_s=20, cap_bytes=1000)
    assert result.returncode == 0
    assert result.stdout.startswith(b"a" * 500 + b"\n[... ")
    assert result.stdout.endswith(b" bytes left out ...]\n" + b"a" * 496 + b"end\n")
    assert len(result.stderr) < 1100


def test_the_wall_budget_kills_a_group_that_ignores_term(tmp_path):
    script = f"trap '' TERM; sleep 60 & echo $! > {tmp_path}/pid; wait; wait"
    result = run_child(["bash", "-c", script], wall_s=0.5, grace_s=0.2)
    assert result.timed_out
    assert result.returncode == -signal.SIGKILL
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_background_child_does_not_hold_the_call(tmp_path):
    result = run_child(["bash", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; echo done"], wall_s=20)
    assert result.stdout == b"done\n"
    assert result.seconds < 15
    assert gone(int((tmp_path / "pid").read_text()))


def test_cancel_ends_the_child():
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    result = run_child(["sleep", "60"], wall_s=60, cancel=cancel)
    assert result.cancelled
    assert result.returncode == -signal.SIGTERM


def test_a_child_that_reads_no_input_is_no_error():
    assert run_child(["true"], stdin=b"x" * (1 << 20), wall_s=10).returncode == 0


def test_nothing_is_left_open():
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        run_child(["true"], wall_s=10)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


SIGNALLED = """
import signal, sys
from wmo_kit import child
from wmo_kit.bell import Bell
from wmo_kit.child import run_child, started_child
from wmo_kit.orphans import descendants
from wmo_kit.signals import handle_stopping, raise_stop
from wmo_kit.errors import Terminated

for number in range(40):
    handle_stopping(raise_stop)
    try:
        run_child(["sh", "-c", "kill -TERM $PPID; exec sleep 86392"], wall_s=20)
        sys.exit("no signal came")
    except Terminated:
        pass
    if descendants():
        sys.exit(f"left behind in round {number}")
"""


def test_a_signal_amid_the_start_of_a_child_leaves_none_behind():
    done = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bell_ends_a_wait_at_once_and_a_flag_at_the_next_look(monkeypatch):
    monkeypatch.setattr(child, "LOOK_S", 60.0)
    bell = Bell()
    with started_child(["sleep", "60"], grace_s=0.1) as sleeper:
        threading.Timer(0.1, bell.set).start()
        ended = sleeper.wait(50, cancel=threading.Event(), bell=bell)
    assert ended.cancelled
    assert not ended.timed_out
    assert ended.seconds < 10
