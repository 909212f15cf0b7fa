"""wmo-score's own memory, with 32 trials in flight and over 1,000. Boxes, and what runs in them, do not count."""

import statistics
import tempfile
import time
from pathlib import Path

from bench.model import slow_server
from bench.processes import descendants
from bench.scoring import make_suite, scoring, watch, write_seed
from bench.timing import Row, value_row

JOBS, LIMIT_MB = 32, 300.0
TURNS, LATENCY_S, TASKS, ATTEMPTS = 10, 0.5, 8, 8
FLAT_TASKS, FLAT_ATTEMPTS, FLAT_TURNS, WARM = 20, 50, 2, 200
FLAT_LIMIT = 1.1
LOOK_S, FLAT_LOOK_S = 0.5, 2.0
OURS = ("wmo-score", "box_helper.py")
"""In a command line: the tool, and the process that opens sockets in boxes for it."""
MB = 1e6
IN_FLIGHT_FLOOR = (
    "Python with pydantic, requests and our modules: what it has before its first trial; a trial adds its threads and "
    "the conversation, whose exchanges are evidence that is written at its end"
)
FLAT_FLOOR = "1.0, but for a cell of a report each trial (2 kB)"


def measure() -> list[Row]:
    """Give both rows. Memory is PSS: what is shared with another process counts in part."""
    return [_in_flight(), _flat()]


def own_bytes(root: int) -> int:
    """Give the memory of the processes below `root` that are wmo-score's own."""
    return sum(
        process.memory_bytes()
        for process in descendants(root)
        if any(word.endswith(OURS) for word in process.argv[:5]) and "bwrap" not in " ".join(process.argv[:20])
    )


def _in_flight() -> Row:
    peak = 0
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as name, slow_server(TURNS, LATENCY_S) as base_url:
        folder = Path(name)
        harness, suite = write_seed(folder / "harness.json"), make_suite(folder / "suite", TASKS)
        started = time.perf_counter()
        with scoring(harness, suite, base_url, folder / "log", jobs=JOBS, attempts=ATTEMPTS) as process:

            def look() -> None:
                nonlocal peak
                peak = max(peak, own_bytes(process.pid))

            watch(process, LOOK_S, look)
        seconds = time.perf_counter() - started
    return value_row(
        f"wmo-score's own memory, {JOBS} trials in flight",
        seconds,
        peak / MB,
        "MB",
        LIMIT_MB,
        floor=IN_FLIGHT_FLOOR,
        notes=["the highest of what was seen every half second"],
    )


def _flat() -> Row:
    """Give the row of many trials: memory over the last 200 trials against that from trial 200 to 400."""
    trials = FLAT_TASKS * FLAT_ATTEMPTS
    samples: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as name, slow_server(FLAT_TURNS, 0) as base_url:
        folder, log = Path(name), Path(name, "log")
        harness, suite = write_seed(folder / "harness.json"), make_suite(folder / "suite", FLAT_TASKS)
        started = time.perf_counter()
        with scoring(harness, suite, base_url, log, jobs=JOBS, attempts=FLAT_ATTEMPTS) as process:

            def look() -> None:
                finished = log.read_bytes().count(b"\n")  # one line a trial
                samples.append((finished, own_bytes(process.pid)))

            watch(process, FLAT_LOOK_S, look)
        seconds = time.perf_counter() - started
    # medians: a child that is about to run its program has our memory, and would count twice
    early = statistics.median(used for finished, used in samples if WARM <= finished < 2 * WARM)
    late = statistics.median(used for finished, used in samples if trials - WARM <= finished < trials)
    return value_row(
        f"wmo-score's own memory, last {WARM} of {trials} trials against trials {WARM} to {2 * WARM}",
        seconds,
        late / early,
        "times",
        FLAT_LIMIT,
        floor=FLAT_FLOOR,
        notes=[f"{early / MB:.0f} MB, then {late / MB:.0f} MB; {seconds / trials:.3f} s a trial at {JOBS} jobs"],
    )
