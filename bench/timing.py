"""Timing side by side: the cases take turns within one run, so that a busy machine slows all of them alike."""

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict


class Row(TypedDict):
    """One line of the result: `seconds` is `ratio` times one `unit`; `holds` says whether it is within `limit`.

    Where `limit` is None the row is for information, and holds.
    """

    name: str
    seconds: float
    ratio: float
    unit: str
    limit: float | None
    holds: bool
    notes: list[str]


def side_by_side(cases: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run every case once a round, `rounds` times after one warm-up, and give each one's median wall seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for round_number in range(rounds + 1):
        for name, case in cases.items():
            started = time.perf_counter()
            case()
            if round_number > 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def command(*argv: str, code: int = 0) -> Callable[[], object]:
    """Give a case that runs a command to its end and fails where its exit code is not `code`."""

    def case() -> object:
        done = subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != code:
            raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr}")
        return done

    return case


def ratio_row(
    name: str, seconds: float, *, base: tuple[str, float], limit: float | None, notes: Sequence[str] = ()
) -> Row:
    """Give the row of a case that must take at most `limit` times the base (its name and its seconds), if that."""
    unit, base_seconds = base
    ratio = seconds / base_seconds
    return {
        "name": name,
        "seconds": round(seconds, 4),
        "ratio": round(ratio, 2),
        "unit": f"x {unit}",
        "limit": limit,
        "holds": limit is None or ratio <= limit,
        "notes": [*notes, f"{unit}: {base_seconds:.3f} s"],
    }
