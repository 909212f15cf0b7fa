"""Set-up as after `git clone`, with the package caches of whoever measures, and a `make` that has nothing to do."""

import subprocess
import tempfile
import time
from pathlib import Path

from bench.timing import Row, command, side_by_side, value_row

ROOT = Path(__file__).parents[1]
LIMIT_S, AGAIN_LIMIT_S = 90.0, 0.3
STEPS = {
    ".venv": ".venv/bin/python",
    "Python packages": ".venv/.runtime-stamp",
    "pi": "vendor/runtime/stamp.json",
}
FLOOR = "pip installs 40 locked packages one after the other, checks their hashes and compiles each file to bytecode"
AGAIN_FLOOR = "make itself: its start, and a look at the time of each file that a stamp depends on"


def measure() -> list[Row]:
    """Give both rows. What is committed is cloned, nothing else; the registries are asked as by any user's set-up."""
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder:
        clone = Path(folder) / "clone"
        command("git", "clone", "--quiet", str(ROOT), str(clone))()
        phases = {name: _make(clone, target) for name, target in STEPS.items()}
        first = sum(phases.values()) + _make(clone, "setup")
        again = side_by_side({word: command("make", "-C", str(clone), word) for word in ("setup", "help")}, 5)
    return [
        value_row("set-up from a fresh clone, warm caches", first, first, "s", LIMIT_S, phases=phases, floor=FLOOR),
        value_row(
            "a second make setup",
            again["setup"],
            again["setup"],
            "s",
            AGAIN_LIMIT_S,
            floor=AGAIN_FLOOR,
            notes=[f"make help: {again['help']:.3f} s"],
        ),
    ]


def _make(clone: Path, target: str) -> float:
    started = time.perf_counter()
    done = subprocess.run(["make", target], check=False, cwd=clone, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"make {target} ended with {done.returncode}: {done.stderr[-2000:]}")
    return time.perf_counter() - started
