"""SIGKILL while a slot is being scored: the next `invoke resume` finishes, and the run equals one that nothing hit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from processes import descendants, wait_gone, wait_until

BIN = Path(sys.executable).parent
TASKS = "csv-repair,permissions,log-report"
INIT = f"wmo-state init {{run}} --seed pi --suite suites/starter --slots 1 --tasks {TASKS}"


def start(root: Path, run: Path) -> subprocess.Popen[bytes]:
    """Start the rest of the loop in a process group of its own, so that all of it can be killed at once."""
    argv = [BIN / "invoke", "resume", "--run", str(run), "--jobs", "1"]
    return subprocess.Popen(
        argv, cwd=root, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_for(condition, process: subprocess.Popen[bytes]) -> None:
    for _ in range(3000):
        if condition():
            return
        assert process.poll() is None, "the loop ended before it could be killed"
        time.sleep(0.02)
    raise AssertionError("the moment to kill never came")


def left_running(run: Path) -> list[str]:
    """Give the command lines of processes that still name the run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(run) in line and int(path.parent.name) != os.getpid():
            found.append(line)
    return found


def test_a_kill_while_scoring_costs_no_proposal_and_changes_nothing(root, shell, evidence, tmp_path):
    calm, hit = tmp_path / "calm" / "run", tmp_path / "hit" / "run"
    for run in (calm, hit):
        done = shell(INIT.format(run=run))
        assert done.returncode == 0, done.stderr
    assert start(root, calm).wait(300) == 0

    process = start(root, hit)
    trials = hit / "candidates/candidate-0001/trials"
    wait_for(lambda: len(list(trials.glob("*/*/cell.json"))) >= 1, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert (hit / "candidates/candidate-0001/pending.json").exists()
    for _ in range(100):
        if not left_running(hit):
            break
        time.sleep(0.05)
    assert left_running(hit) == []
    kept = {path: path.stat().st_mtime_ns for path in trials.glob("*/*/cell.json")}

    assert start(root, hit).wait(300) == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "a finished trial was run again"
    assert evidence(hit) == evidence(calm)
    events = [json.loads(line) for line in (hit / "events.jsonl").read_text().splitlines()]
    turns = [event for event in events if event["slot"] == 1 and event["event"] == "accepted"]
    assert len(turns) == 1
    assert not list((hit / "proposals/slot-0001").glob("attempt-*"))


def test_a_tool_that_is_killed_ends_the_loop_with_a_word_and_a_shells_exit_code(root, shell, tmp_path):
    run = tmp_path / "run"
    done = shell(f"wmo-state init {run} --seed pi --suite suites/starter --slots 0 --tasks csv-repair")
    assert done.returncode == 0, done.stderr
    argv = [BIN / "invoke", "resume", "--run", str(run)]
    loop = subprocess.Popen(argv, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(run.glob("candidates/*/trials/*/attempt-1/episode.json")), loop)
    below = descendants(loop.pid)
    os.kill(next(pid for pid, name in below.items() if name == "wmo-score"), signal.SIGKILL)
    _, told = loop.communicate(timeout=60)
    assert loop.returncode == 128 + signal.SIGKILL
    assert "wmo-score was killed by signal 9; run the same command again to go on" in told
    wait_gone(below)
