"""The tools on a disk of 1 MiB that is full, fills up at any moment, is read-only or goes away: 74, and then on."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_disk import on_small_disk

BIN = Path(sys.executable).parent
FREE = re.compile(r"no space left on device( \(\d+ KiB are left\))?: free space there, then run the same command again")
PROOF_BYTES = 100_000
WORD = f"head -c {PROOF_BYTES} /dev/zero | tr '\\0' x"
VERIFIER = f"{WORD} > /app/proof && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"
SOLUTION = f"{WORD} > /app/answer || rm /app/answer; sync\n"
CHECK = f'[ "$(wc -c < /app/answer)" = {PROOF_BYTES} ] && echo 1 > $L || echo 0 > $L\n'
AGENT = f"{WORD} > candidate/notes.md; echo Work carefully. >> candidate/SYSTEM.md; echo turn >> {{log}}; echo Done"


def make_task(folder: Path, verifier: str, solution: str = "true\n") -> None:
    (folder / "environment/workspace").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "solution").mkdir()
    (folder / "task.toml").write_text('version = "1.0"\n')
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "tests/test.sh").write_text(verifier)
    (folder / "solution/solve.sh").write_text(solution)


class Bench:
    """A small disk with a run on it, and the tools as a user calls them."""

    def __init__(self, root: Path, place: Path, disk) -> None:
        self.root, self.place, self.disk, self.run = root, place, disk, disk.place / "run"
        self.log = place / "turns"
        self.log.touch()
        agent = ("--proposer", "command", "--allow", f"write:{self.log}", "--", "sh", "-c", AGENT.format(log=self.log))
        options = ("--seed", "pi", "--suite", place / "suite", "--slots", "1", "--tasks", "weigh", "--sandbox", "bwrap")
        self.init = ("wmo-state", "init", self.run, *options, *agent)

    def call(self, tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        argv = [BIN / tool, *map(str, arguments)]
        done = subprocess.run(argv, cwd=self.root, capture_output=True, text=True, timeout=120, check=False)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 74), done.stderr
        if done.returncode == 74:
            assert done.stdout == ""
            told = done.stderr.splitlines()[-1]
            assert f"{tool}: input/output failed: '{self.disk.place}" in told
            assert ".tmp" not in told
            assert ".new" not in told
        return done

    def good(self, tool: str, *arguments: object) -> dict:
        done = self.call(tool, *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def sweep(self, sizes: range, tool: str, *arguments: object) -> tuple[dict, int]:
        """Call the tool with so many bytes left on the disk until it succeeds; gives its document, and the failures."""
        for failures, size in enumerate(sizes):
            self.disk.leave(size)
            done = self.call(tool, *arguments)
            self.disk.clear()
            if done.returncode == 0:
                return json.loads(done.stdout), failures
            assert FREE.search(done.stderr)
        raise AssertionError("it never succeeded")


@pytest.fixture
def on_bench(root: Path, tmp_path: Path):
    """Give a function that does `work(bench)` on a small disk."""
    make_task(tmp_path / "suite/weigh", VERIFIER)

    def do(work, size: int = 1 << 20) -> None:
        on_small_disk(tmp_path / "disk", lambda disk: work(Bench(root, tmp_path, disk)), size)

    return do


def test_a_slot_whose_disk_fills_at_any_moment(on_bench):
    def slot(bench: Bench) -> None:
        _, failures = bench.sweep(range(0, 1 << 20, 100_000), *bench.init)
        assert failures > 2
        score, failures = bench.sweep(range(0, 1 << 20, 80_000), "wmo-score", "--run", bench.run)
        assert score["score"] == 1.0
        assert failures > 2
        candidate, failures = bench.sweep(range(0, 2 << 20, 150_000), "wmo-propose", "--run", bench.run)
        files = {file["path"]: file["content"] for file in candidate["harness"]["files"]}
        assert files["notes.md"] == "x" * PROOF_BYTES
        assert failures > 2
        assert bench.good("wmo-state", "verify", bench.run)["ok"]

    on_bench(slot, 4 << 20)


def test_a_full_disk_makes_no_agent_fail(tmp_path, root):
    """The agent's file does not fit, and it removes it, so the verifier finds none: that is no verdict on the agent."""
    for number in range(3):
        make_task(tmp_path / f"suite/weigh-{number}", "L=/logs/verifier/reward.txt\n" + CHECK, SOLUTION)

    def score(disk) -> None:
        (disk.place / "tmp").mkdir()
        os.environ["TMPDIR"] = str(disk.place / "tmp")
        bench = Bench(root, tmp_path, disk)
        command = ("wmo-score", "--suite", tmp_path / "suite", "--agent", "oracle", "--keep", disk.place / "kept")
        for size in (64_000, 100_000, 150_000, 250_000):
            disk.leave(size)
            done = bench.call(*command, "--jobs", 3)
            assert done.returncode == 74
            assert FREE.search(done.stderr)
            disk.clear()
        assert bench.good(*command, "--jobs", 3)["score"] == 1.0

    on_small_disk(tmp_path / "disk", score)


def test_words_that_a_full_disk_does_not_take_stop_nothing(on_bench):
    def speak(bench: Bench) -> None:
        bench.good(*bench.init)
        with Path("/dev/full").open("w") as full:
            argv = [BIN / "wmo-score", "--run", bench.run]
            done = subprocess.run(argv, cwd=bench.root, stdout=subprocess.PIPE, stderr=full, check=False)
        assert done.returncode == 0
        assert json.loads(done.stdout)["score"] == 1.0

    on_bench(speak)


def test_a_read_only_disk(on_bench):
    def protect(bench: Bench) -> None:
        bench.good(*bench.init)
        bench.disk.protect(True)
        for tool in (("wmo-score", "--run"), ("wmo-state", "init")):
            done = bench.call(*tool, bench.run)
            assert done.returncode == 74
            assert (
                "/run/.lock': read-only file system: make it writable, then run the same command again" in done.stderr
            )
        assert bench.good("wmo-state", "next", bench.run)["step"] == "score-seed"
        assert bench.good("wmo-state", "verify", bench.run)["ok"]
        bench.disk.protect(False)
        assert bench.good("wmo-score", "--run", bench.run)["score"] == 1.0

    on_bench(protect)


def test_a_file_where_the_path_needs_a_folder(on_bench):
    def block(bench: Bench) -> None:
        bench.run.write_text("")
        done = bench.call("wmo-state", "init", bench.run / "deeper", *bench.init[3:])
        assert done.returncode == 74
        assert f"'{bench.run}': not a directory: a part of that path is a file" in done.stderr
        bench.run.unlink()
        bench.good(*bench.init)
        (bench.run / "proposals").write_text("")
        bench.good("wmo-score", "--run", bench.run)
        done = bench.call("wmo-propose", "--run", bench.run)
        assert done.returncode == 74
        assert f"'{bench.run}/proposals': not a directory" in done.stderr
        assert bench.log.read_text() == ""
        (bench.run / "proposals").unlink()
        assert FREE.search(
            bench.call("wmo-propose", "--run", bench.run).stderr
        )  # pi's tree is too large to be here thrice
        bench.disk.resize(4 << 20)
        bench.good("wmo-propose", "--run", bench.run)

    on_bench(block)


@pytest.mark.parametrize("tool", ["wmo-score", "wmo-propose"])
def test_a_run_that_is_removed_while_a_tool_works_on_it(on_bench, tmp_path, tool):
    def remove(bench: Bench) -> None:
        bench.good(*bench.init)
        if tool == "wmo-propose":
            bench.good("wmo-score", "--run", bench.run)
        work = bench.run / ".work"
        stop = threading.Event()

        def strike() -> None:
            while not stop.is_set():
                if work.is_dir() and any(work.iterdir()):
                    time.sleep(0.05)
                    shutil.rmtree(bench.run, ignore_errors=True)
                    return
                time.sleep(0.005)

        striker = threading.Thread(target=strike)
        striker.start()
        done = subprocess.run(
            [BIN / tool, "--run", bench.run], cwd=bench.root, capture_output=True, text=True, check=False
        )
        stop.set()
        striker.join()
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 74, done.stderr
        assert "no such file or directory: it was removed or never made" in done.stderr
        assert not bench.run.exists() or not [path for path in bench.run.rglob("*") if path.is_file()]

    on_bench(remove, 8 << 20)  # room for a whole turn: it is the folder that goes, not the space


def test_a_tool_that_is_stopped_and_continued_all_the_time(on_bench):
    """EINTR in the tool itself: what is interrupted when a process stops does not all go on by itself."""

    def hail(bench: Bench) -> None:
        bench.good(*bench.init)
        argv = [BIN / "wmo-score", "--run", bench.run]
        process = subprocess.Popen(argv, cwd=bench.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        hits = 0
        while process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
            hits += 1
            time.sleep(0.002)
        output, words = process.communicate()
        assert process.returncode == 0, words
        assert json.loads(output)["score"] == 1.0
        assert hits > 20

    on_bench(hail)
