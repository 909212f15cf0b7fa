"""`make run` as a user starts it: the starter suite with the offline model, in a fresh run directory."""

import json
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from bench.timing import Row, value_row

ROOT = Path(__file__).parents[1]
LIMIT_S = 60.0
FLOOR = (
    "60 trials and 4 proposals that two processors share: each starts node, boxes for the agent, its tools and "
    "the verifier, and what the tasks themselves run; the model takes nothing"
)


def measure() -> list[Row]:
    """Give the row; its phases are the steps of the run, by kind, and what is between them: processes that start."""
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder:
        run = Path(folder) / "run"
        started = time.perf_counter()
        done = subprocess.run(["make", "run", f"RUN={run}"], check=False, cwd=ROOT, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        if done.returncode != 0:
            raise RuntimeError(f"make run ended with {done.returncode}: {done.stderr[-2000:]}")
        phases = _phases(run)
    phases["between"] = seconds - sum(phases.values())
    return [
        value_row("make run, starter suite, offline model", seconds, seconds, "s", LIMIT_S, phases=phases, floor=FLOOR)
    ]


def _phases(run: Path) -> dict[str, float]:
    """Add up the seconds of the run's events by kind."""
    spent: dict[str, float] = defaultdict(float)
    for line in (run / "events.jsonl").read_text("utf-8").splitlines():
        event = json.loads(line)
        spent[event["event"]] += event.get("seconds", 0.0)
    return {kind: seconds for kind, seconds in spent.items() if seconds}
