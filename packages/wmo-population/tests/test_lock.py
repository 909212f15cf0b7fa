"""The run's lock between real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from wmo_kit.errors import Locked, Missing
from wmo_population.lock import RunHold, RunLock

HOLD = """
import subprocess, sys, time
from pathlib import Path
from wmo_population.lock import RunLock
with RunLock(Path(sys.argv[1])):
    child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock, with a child of its own that outlives it."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    yield process
    os.kill(child, signal.SIGKILL)
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_process_is_told_who_holds_it(tmp_path, holder):
    with pytest.raises(Locked) as caught, RunLock(tmp_path):
        pass
    assert caught.value.code == 75
    assert f"process {holder.pid} on host '{socket.gethostname()}'" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_killed_holder_frees_it_at_once_even_with_a_child_alive(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / ".lock").exists()
    with RunLock(tmp_path):
        assert str(os.getpid()) in (tmp_path / ".lock").read_text()
    assert list(tmp_path.iterdir()) == []


def test_one_process_cannot_take_it_twice(tmp_path):
    with RunLock(tmp_path):
        with pytest.raises(Locked), RunLock(tmp_path):
            pass
        with pytest.raises(Locked), RunLock(tmp_path):
            pass


def test_no_run_directory_is_missing(tmp_path):
    with pytest.raises(Missing, match="wmo-state init"), RunLock(tmp_path / "nowhere"):
        pass


LOOP = """
import subprocess, sys
from pathlib import Path
from wmo_population.lock import RunHold
with RunHold(Path(sys.argv[1])):
    child = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], stdout=subprocess.PIPE, text=True)
    print(child.stdout.readline(), end="", flush=True)
    child.wait()
"""


@pytest.fixture
def loop(tmp_path):
    """A loop that holds the run, and below it a tool (which has a child) in its step. The tool outlives the loop."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(tmp_path), HOLD], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    process.stdout.readline()
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_a_tool_of_the_loop_works_and_any_other_is_told_who_loops(tmp_path, loop):
    step = json.loads((tmp_path / ".step.lock").read_text())["pid"]
    assert step != loop.pid
    for lock in (RunLock, RunHold):
        with pytest.raises(Locked, match=f"in use by process {loop.pid} on host"), lock(tmp_path):
            pass


def test_between_two_steps_the_loop_still_has_the_run(tmp_path, loop):
    os.kill(json.loads((tmp_path / ".step.lock").read_text())["pid"], signal.SIGSTOP)
    (tmp_path / ".step.lock").unlink()  # as it is between two steps
    with pytest.raises(Locked, match=f"in use by process {loop.pid} on host"), RunLock(tmp_path):
        pass


def test_a_tool_that_outlives_its_killed_loop_keeps_the_next_away_until_it_ends(tmp_path, loop):
    step = json.loads((tmp_path / ".step.lock").read_text())["pid"]
    os.kill(loop.pid, signal.SIGKILL)
    loop.wait()
    with RunHold(tmp_path):  # free at once
        pass
    with pytest.raises(Locked, match=f"in use by process {step} on host"), RunLock(tmp_path):
        pass
    os.kill(step, signal.SIGKILL)
    for _ in range(500):
        try:
            with RunLock(tmp_path):
                break
        except Locked:
            time.sleep(0.01)
    else:
        pytest.fail("a dead tool's lock is not free")
    assert list(tmp_path.iterdir()) == []
