"""SIGKILL before each step that changes the disk, in a real process; then resume, and compare with an unbroken run."""

import os
import signal
import sys
from collections import Counter

import pytest
from wmo_population import optimize

WRITES = os.O_WRONLY | os.O_RDWR
STEPS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}


def changes_disk(event, arguments):
    return event in STEPS or (event == "open" and isinstance(arguments[2], int) and bool(arguments[2] & WRITES))


def run_killed(run_dir, player, at):
    """Run the search in a forked process that dies before disk step number `at`. Gives whether it died."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event, arguments):
            nonlocal seen
            if changes_disk(event, arguments) and str(run_dir) in str(arguments[0]):
                seen += 1
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            optimize(player.seed, player, player, 4, run_dir=run_dir)
            os._exit(0)
        finally:
            os._exit(1)  # the child must never return into pytest
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def paid_for(run_dir):
    """Give the calls whose result is on disk, so that they must not be made again."""
    candidates = run_dir / "candidates"
    reports = {f"score {path.parent.name}" for path in candidates.glob("*/report.json")}
    done = [*candidates.glob("*/pending.json"), *candidates.glob("*/error.json")]
    return reports | {f"propose {int(path.parent.name[-4:])}" for path in done}


@pytest.mark.parametrize(("start", "least"), [("", 60), ("run-pending", 6)])
def test_a_kill_before_any_disk_step_loses_nothing(start, least, tmp_path, vector, replay, complete, run_files):
    wanted = run_files(complete)
    at = 0
    died = True
    while died:
        at += 1
        run_dir = tmp_path / f"{at}" / "run"
        run_dir.parent.mkdir()
        if start:
            vector(start).rename(run_dir)
        log = tmp_path / f"{at}" / "calls"
        died = run_killed(run_dir, replay(log), at)
        paid = paid_for(run_dir)
        player = replay(log)
        assert optimize(player.seed, player, player, 4, run_dir=run_dir).completed
        assert run_files(run_dir) == wanted, f"killed before step {at}"
        calls = Counter(log.read_text().splitlines())
        twice = {call for call, times in calls.items() if times > 1}
        assert len(twice) <= 1, f"killed before step {at}: {twice}"
        assert not twice & paid, f"killed before step {at}"
    assert at > least
