"""Trials of 10 turns at 200 ms each: 64 on 32 jobs against what the model alone takes, and 24 on 8 jobs against 1."""

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.model import slow_server
from bench.scoring import make_suite, tool, with_model, write_seed
from bench.timing import Row, value_row

TURNS, LATENCY_S = 10, 0.2
MODEL_S = TURNS * LATENCY_S
MANY_TASKS, MANY_ATTEMPTS, MANY_JOBS, MANY_LIMIT = 8, 8, 32, 80.0
TASKS, JOBS, LIMIT = 24, 8, 6.0
MANY_FLOOR = (
    "the processors' time: for 80 % two processors may use 0.15 s a trial, and node, pi's libraries, three boxes and "
    "two Pythons must be started for each"
)


def measure() -> list[Row]:
    """Give both rows."""
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as name, slow_server(TURNS, LATENCY_S) as base_url:
        folder = Path(name)
        harness = write_seed(folder / "harness.json")
        scorer = Scorer(harness, base_url)
        return [_ideal(scorer, folder), _speed_up(scorer, folder)]


class Scorer:
    """Scores a harness and times it."""

    def __init__(self, harness: Path, base_url: str) -> None:
        self._harness, self._env = str(harness), with_model(base_url)

    def seconds(self, suite: Path, jobs: int, *options: str) -> float:
        """Score the harness on a suite; gives the wall seconds."""
        started = time.perf_counter()
        said = tool("wmo-score", self._harness, "--suite", str(suite), "--jobs", str(jobs), *options, env=self._env)
        if json.loads(said)["score"] != 1.0:
            raise RuntimeError(f"the bench suite scored {json.loads(said)['score']}, not 1.0")
        return time.perf_counter() - started


def _ideal(scorer: Scorer, folder: Path) -> Row:
    """Give the row of many trials: the part of its time, in per cent, that the model's own would have been."""
    suite, kept = make_suite(folder / "many", MANY_TASKS), folder / "kept"
    seconds = scorer.seconds(suite, MANY_JOBS, "--attempts", str(MANY_ATTEMPTS), "--keep", str(kept))
    trials = MANY_TASKS * MANY_ATTEMPTS
    ideal = trials / MANY_JOBS * MODEL_S
    return value_row(
        f"{trials} trials of {TURNS} x {LATENCY_S:g} s, --jobs {MANY_JOBS}",
        seconds,
        100 * ideal / seconds,
        "% of ideal",
        MANY_LIMIT,
        at_least=True,
        phases=_phases(sorted(kept.glob("trials/*/*"))),
        floor=MANY_FLOOR,
        notes=[f"ideal: {trials} / {MANY_JOBS} x {MODEL_S:g} s = {ideal:g} s; phases are medians of a trial"],
    )


def _phases(folders: Sequence[Path]) -> dict[str, float]:
    """Give the medians of the trials' phases; "commit" is what is neither the agent's nor the verifier's."""
    seconds: dict[str, list[float]] = {}
    for folder in folders:
        cell = json.loads((folder / "cell.json").read_text())["timings"]
        spent = json.loads((folder / "wmo-run.json").read_text())["timings"]
        spent |= {"verify": cell["verifier"], "commit": cell["total"] - cell["agent"] - cell["verifier"]}
        for phase, value in (spent | {"total": cell["total"]}).items():
            seconds.setdefault(phase, []).append(value)
    return {phase: statistics.median(values) for phase, values in seconds.items()}


def _speed_up(scorer: Scorer, folder: Path) -> Row:
    """Give the row of the speed-up: jobs 1 over jobs 8, so it must be at least the limit."""
    suite = make_suite(folder / "suite", TASKS)
    many, one = scorer.seconds(suite, JOBS), scorer.seconds(suite, 1)
    return value_row(
        f"{TASKS} trials of {TURNS} x {LATENCY_S:g} s, --jobs {JOBS} against --jobs 1",
        many,
        one / many,
        "times faster",
        LIMIT,
        at_least=True,
        floor=f"{TASKS * MODEL_S / JOBS:g} s, the model alone at {JOBS} jobs; {TASKS * MODEL_S:g} s at one",
        notes=[f"jobs 1: {one:.1f} s"],
    )
