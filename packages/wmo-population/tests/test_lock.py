"""The run's lock between real processes."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from wmo_kit.errors import Locked, Missing
from wmo_population.lock import RunLock

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
