"""24 trials of 10 turns at 200 ms each: how much faster eight at a time are than one at a time."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.model import slow_server
from bench.timing import Row

TRIALS, TURNS, LATENCY_S, JOBS = 24, 10, 0.2, 8
LIMIT = 6.0
TASK_TOML = 'version = "1.0"\n\n[agent]\ntimeout_sec = 120.0\n\n[verifier]\ntimeout_sec = 30.0\n'


def measure() -> list[Row]:
    """Give the row of the speed-up; `ratio` is jobs 1 over jobs 8, so it must be at least the limit."""
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as name, slow_server(TURNS, LATENCY_S) as base_url:
        folder = Path(name)
        suite = _make_suite(folder / "suite")
        harness = folder / "harness.json"
        harness.write_bytes(_tool("wmo-vendor", "tree"))
        env = {**os.environ, "WMO_BASE_URL": base_url, "WMO_MODEL": "bench", "WMO_API_KEY": "none"}

        def score(jobs: int) -> float:
            started = time.perf_counter()
            document = json.loads(_tool("wmo-score", str(harness), "--suite", str(suite), "--jobs", str(jobs), env=env))
            if document["score"] != 1.0:
                raise RuntimeError(f"the bench suite scored {document['score']}, not 1.0")
            return time.perf_counter() - started

        many, one = score(JOBS), score(1)
    ideal = TRIALS * TURNS * LATENCY_S
    row: Row = {
        "name": f"{TRIALS} trials of {TURNS} x {LATENCY_S:g} s, --jobs {JOBS} against --jobs 1",
        "seconds": round(many, 3),
        "ratio": round(one / many, 2),
        "unit": "times faster",
        "limit": LIMIT,
        "holds": one / many >= LIMIT,
        "notes": [
            f"jobs 1 {one:.1f} s",
            f"the model alone: {ideal:.0f} s at jobs 1, {ideal / JOBS:.0f} s at jobs {JOBS}",
        ],
    }
    return [row]


def _tool(*argv: str, env: dict[str, str] | None = None) -> bytes:
    path = Path(sys.executable).parent / argv[0]
    return subprocess.run([path, *argv[1:]], check=True, stdout=subprocess.PIPE, env=env).stdout


def _make_suite(suite: Path) -> Path:
    for number in range(TRIALS):
        task = suite / f"task-{number:02d}"
        (task / "environment/workspace").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "environment/workspace/here.txt").write_text("here\n")
        (task / "task.toml").write_text(TASK_TOML)
        (task / "instruction.md").write_text("Do ten turns.\n")
        (task / "tests/test.sh").write_text("echo 1.0 > /logs/verifier/reward.txt\n")
    return suite
