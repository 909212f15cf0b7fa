"""Sandboxes whose process, or whose owner, is killed."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from wmo_kit.errors import Missing
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import load_task
from wmo_suites.verifier import NoReward, verify
from wmo_suites.workspace import copy_workspace

TASKS = Path(__file__).parents[2] / "packages" / "wmo-suites" / "tests" / "tasks"


def processes(marker: str) -> list[int]:
    """Give the live processes of this machine that have `marker` as an argument."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if marker.encode() in words:
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_sandbox_that_was_killed_says_so_and_comes_back(tmp_path: Path) -> None:
    with Sandbox(tmp_path) as sandbox:
        sandbox.run("echo kept > file; sleep 8651 &")
        boxes = [process for process in processes(str(tmp_path)) if process != os.getpid()]
        assert len(boxes) == 1
        os.kill(boxes[0], signal.SIGKILL)
        first = sandbox.run("cat file")
        assert first.is_error
        assert first.content.startswith("the sandbox ended during this call; the next call gets a fresh one")
        assert sandbox.run("cat file").content == "kept\n"
        assert wait_for(lambda: not processes("8651"))


def test_everything_dies_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, os, signal; from wmo_suites.sandbox import Sandbox\n"
        "for mode in ('bwrap', 'none'):\n"
        "    sandbox = Sandbox(pathlib.Path(sys.argv[1]), mode=mode); globals()[mode] = sandbox\n"
        "    sandbox.run('sleep 8652 & setsid sleep 8652 &')\n"
        "print('ready', flush=True)\n"
        "bwrap.run('sleep 8652')\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    assert owner.stdout.readline() == "ready\n"
    assert wait_for(lambda: len(processes("8652")) >= 5)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert wait_for(lambda: not processes("8652"))


def test_a_sandbox_outlives_the_thread_that_opened_it(tmp_path: Path) -> None:
    opened: list[Sandbox] = []
    thread = threading.Thread(target=lambda: opened.append(Sandbox(tmp_path)))
    thread.start()
    thread.join()
    with opened[0] as sandbox:
        assert sandbox.run("sleep 0.1; echo alive").content == "alive\n"


def test_a_fork_bomb_is_put_out(tmp_path: Path) -> None:
    with Sandbox(tmp_path) as sandbox:
        seen = sandbox.run("bomb() { bomb | bomb & }; bomb; sleep 30", timeout_s=20)
        assert seen.is_error
        assert sandbox.run("echo calm").content == "calm\n"


def test_a_verifier_that_kills_all_it_can_gives_no_reward(tmp_path: Path) -> None:
    task = load_task(TASKS / "silent")
    copy_workspace(task, tmp_path / "app")
    (tmp_path / "app" / "verdict.sh").write_text("kill -9 -1; kill -9 $$")
    with pytest.raises(NoReward, match=r"test\.sh exited with 137"):
        verify(task, tmp_path / "app", tmp_path / "logs")


def test_a_workspace_that_is_gone_is_missing(tmp_path: Path) -> None:
    with (
        Sandbox(tmp_path / "nowhere") as sandbox,
        pytest.raises(Missing, match=r"bubblewrap said '.*No such file or directory"),
    ):
        sandbox.run("true")


def test_closing_while_it_opens_is_no_missing_sandbox(tmp_path: Path) -> None:
    for pause_s in (0.0, 0.01, 0.03, 0.06):
        sandbox = Sandbox(tmp_path)
        closer = threading.Timer(pause_s, sandbox.close)
        closer.start()
        observation = sandbox.run("true")
        closer.join()
        assert "cannot make" not in observation.content


def test_the_kernel_bounds_a_box_whoever_looks(tmp_path):
    """A crowd may outgrow every watcher on a busy machine; root has no RLIMIT_NPROC. Linux can since 6.14."""
    bound = "cat /proc/sys/kernel/pid_max"
    with Sandbox(tmp_path, limits=SandboxLimits(processes=100)) as sandbox:
        inside = int(sandbox.run(bound).content)
    outside = int(Path("/proc/sys/kernel/pid_max").read_text())
    release = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    assert (inside == 800) == (release >= (6, 14))
    assert outside > 800
