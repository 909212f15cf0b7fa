"""`make run-local-model` without its model: the server's life, the seed it plays, what it reads from episodes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from wmo_kit.errors import Missing, Usage

from local_model.__main__ import SERVER_LOG, make_room, seed
from local_model.served import served
from local_model.summary import NO_RESULT, read_episodes

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
SERVER = """
import json, os, sys
print(json.dumps({"url": f"pid-{os.getpid()}"}), flush=True)
sys.stdin.read()
"""
HOLDER = f"""
import sys, time
from pathlib import Path
from local_model.served import served
with served([sys.executable, "-c", {SERVER!r}], Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(60)
"""


def gone(pid: int) -> bool:
    """Say whether a process is gone within a few seconds; a zombie is."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_the_server_ends_with_the_block(tmp_path):
    with pytest.raises(KeyboardInterrupt), served([sys.executable, "-c", SERVER], tmp_path / "log") as url:
        raise KeyboardInterrupt
    assert gone(int(url.removeprefix("pid-")))


def test_the_server_ends_where_we_are_killed(tmp_path):
    argv = [sys.executable, "-c", HOLDER, str(tmp_path / "log")]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        pid = int(holder.stdout.readline().removeprefix("pid-"))
        holder.send_signal(signal.SIGKILL)
    assert gone(pid)


def test_a_server_that_does_not_start_is_missing_and_its_words_are_kept(tmp_path):
    log = tmp_path / "server.log"
    with (
        pytest.raises(Missing, match="the local model did not start"),
        served([sys.executable, "-c", "exit('no memory')"], log),
    ):
        pass
    assert log.read_text() == "no memory\n"


def test_only_a_folder_of_an_earlier_call_is_replaced(tmp_path):
    keep = tmp_path / "new/keep"
    make_room(keep)
    (keep / "mine").touch()
    make_room(keep)
    assert list(keep.iterdir()) == [keep / SERVER_LOG]
    (keep / SERVER_LOG).rename(keep / "mine")
    with pytest.raises(Usage, match="holds something else"):
        make_room(keep)
    assert (keep / "mine").exists()


def test_the_seed_has_other_limits_and_is_read_back_from_an_episode(tmp_path):
    harness = tmp_path / "harness.json"
    harness.write_text(seed(tmp_path / "harness", {"max_turns": 3, "max_output_tokens": 2048}))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WMO_")}
    argv = [BIN / "wmo-score", harness, "--suite", ROOT / "suites/starter", "--task", "csv-repair", "--keep", tmp_path]
    done = subprocess.run(argv, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (cut_short := tmp_path / "trials/fix-script/attempt-1").mkdir(parents=True)
    episode, none = read_episodes(tmp_path)
    cell = json.loads((tmp_path / "trials/csv-repair/attempt-1/cell.json").read_text())
    exchanges = json.loads((tmp_path / "trials/csv-repair/attempt-1/exchanges.json").read_text())["exchanges"]
    assert exchanges[0]["settings"]["max_tokens"] == 2048
    assert (episode.task, episode.stop_reason, episode.reward) == ("csv-repair", "max_turns", cell["cell"]["reward"])
    assert (episode.calls, episode.completion_tokens) == (len(exchanges), cell["usage"]["completion_tokens"])
    assert (1 <= episode.calls <= 3, episode.tool_calls > 0, episode.finish_reasons[-10:]) == (True, True, "tool_calls")
    assert (none.task, none.stop_reason, none.calls, none.reward) == (cut_short.parent.name, NO_RESULT, 0, None)
