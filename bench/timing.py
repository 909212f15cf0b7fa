"""Timing side by side: the cases take turns within one run, so that a busy machine slows all of them alike."""

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict


class Row(TypedDict):
    """One line of the result: what it took (`seconds`), what is bounded (`ratio` in `unit`), and its `limit`.

    `ratio` must be at most `limit`, or at least where `at_least`; where `limit` is None the row is for information, and
    holds. `phases` are seconds by phase, {} where there are none. `floor` says what it cannot go below, and why.
    """

    name: str
    seconds: float
    ratio: float
    unit: str
    limit: float | None
    at_least: bool
    holds: bool
    phases: dict[str, float]
    floor: str
    notes: list[str]


def rounds_of(cases: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Run every case once a round, `rounds` times after one warm-up, and give each one's wall seconds by round."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for round_number in range(rounds + 1):
        for name, case in cases.items():
            started = time.perf_counter()
            case()
            if round_number > 0:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def side_by_side(cases: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run the cases as rounds_of does, and give each one's median wall seconds."""
    return {name: statistics.median(values) for name, values in rounds_of(cases, rounds).items()}


def command(*argv: str, code: int = 0) -> Callable[[], object]:
    """Give a case that runs a command to its end and fails where its exit code is not `code`."""

    def case() -> object:
        done = subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != code:
            raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr}")
        return done

    return case


def ratio_row(
    name: str,
    seconds: float,
    *,
    base: tuple[str, float],
    limit: float | None,
    phases: Mapping[str, float] | None = None,
    floor: str = "",
    notes: Sequence[str] = (),
) -> Row:
    """Give the row of a case that must take at most `limit` times the base (its name and its seconds), if that."""
    unit, base_seconds = base
    return value_row(
        name,
        seconds,
        seconds / base_seconds,
        f"x {unit}",
        limit,
        phases=phases,
        floor=floor,
        notes=[*notes, f"{unit}: {base_seconds:.4f} s"],
    )


def value_row(
    name: str,
    seconds: float,
    value: float,
    unit: str,
    limit: float | None,
    *,
    at_least: bool = False,
    phases: Mapping[str, float] | None = None,
    floor: str = "",
    notes: Sequence[str] = (),
) -> Row:
    """Give the row of a case that took `seconds` and whose `value` in `unit` is bounded, from below with `at_least`."""
    holds = limit is None or (value >= limit if at_least else value <= limit)
    return {
        "name": name,
        "seconds": round(seconds, 4),
        "ratio": round(value, 2),
        "unit": unit,
        "limit": limit,
        "at_least": at_least,
        "holds": holds,
        "phases": {phase: round(spent, 4) for phase, spent in (phases or {}).items()},
        "floor": floor,
        "notes": list(notes),
    }
