"""Grades flaky-test: runs the pristine tests, and more, over a copy of /app/stock in many orders and hash seeds."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = (
    "test_tags_are_listed_once_in_order", "test_an_item_is_free_at_first", "test_a_reserved_item_is_refused_to_others",
    "test_a_reservation_ends", "test_summary_names_free_items",
)
SHELVES = """
from stock.shelf import Shelf
mine, other = {"saw": ("ann", 50.0)}, Shelf(lambda: 10.0)
shelf = Shelf(lambda: 10.0, mine)
assert shelf.holder("saw") == "ann" and shelf.reserve("drill", "bob"), "reservations to begin with do not hold"
assert mine == {"saw": ("ann", 50.0)}, "the caller's reservations were changed"
assert other.holder("saw") is None and other.holder("drill") is None, "two shelves know of each other"
assert Shelf(clock=lambda: 10.0).holder("drill") is None, "a new shelf knows of an old one"
"""
ORDER = """
from stock.shelf import Shelf
shelf = Shelf(clock=lambda: 0)
for item, tags in (("zip", ["q", "b"]), ("axe", ["z", "a", "q"]), ("mug", ["c", "b"]), ("zip", ["y"])):
    shelf.add(item, tags)
assert shelf.tags() == ["q", "b", "y", "z", "a", "c"], "the tags are not in the order of the docstring"
assert shelf.summary() == "free: zip, axe, mug", "the free items are not in the order of the docstring"
assert shelf.reserve("axe", "ann") and shelf.summary() == "free: zip, mug", "the summary names a reserved item"
"""


def run(arguments: list[str], seed: int) -> str | None:
    """Runs python beside a copy of stock and the pristine tests; the last line of stderr if it fails."""
    with tempfile.TemporaryDirectory() as room:
        shutil.copytree("/app/stock", f"{room}/stock", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy("/tests/given/test_shelf.py", room)
        environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-s", "-B", *arguments]
        done = subprocess.run(command, cwd=room, env=environment, capture_output=True, text=True, timeout=20)
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1] if done.returncode else None


def first(failures) -> str | None:
    """The first failure, or None where there is none."""
    return next((why for why in failures if why), None)


def tests(names) -> list[str]:
    return ["-m", "unittest", *(f"test_shelf.ShelfTest.{name}" for name in names)]


def hash_seeds() -> str | None:
    why = first(run(tests(TESTS[:1] + TESTS[-1:]), seed) for seed in range(1, 25))
    return why and f"the tests fail with some hash seed: {why}"


def any_order() -> str | None:
    orders = [TESTS, TESTS[::-1], *(random.Random(seed).sample(TESTS, len(TESTS)) for seed in range(8))]
    why = first(run(tests(order), seed) for seed, order in enumerate(orders))
    return why and f"the tests fail in some order: {why}"


def independent_shelves() -> str | None:
    return run(["-c", SHELVES], 0)


def promised_order() -> str | None:
    return first(run(["-c", ORDER], seed) for seed in range(1, 9))


CHECKS = (hash_seeds, any_order, independent_shelves, promised_order)


# The report: these lines are the same in every task.
results = {}
for check in CHECKS:
    try:
        results[check.__name__.replace("_", "-")] = check() or ""
    except Exception as error:  # a workspace that cannot be read is a wrong one
        results[check.__name__.replace("_", "-")] = f"{type(error).__name__}: {error}"
tests = [{"name": n, "status": "failed" if why else "passed", "duration": 0, "message": why} for n, why in results.items()]
passed = sum(test["status"] == "passed" for test in tests)
counts = {"tests": len(tests), "passed": passed, "failed": len(tests) - passed, "pending": 0, "skipped": 0, "other": 0}
ctrf = {"results": {"tool": {"name": "checks"}, "summary": {**counts, "start": 0, "stop": 0}, "tests": tests}}
print("\n".join(f"not ok {name}: {why}" if why else f"ok {name}" for name, why in results.items()))
Path("/logs/verifier/ctrf.json").write_text(json.dumps(ctrf, indent=2) + "\n")
Path("/logs/verifier/reward.txt").write_text(f"{passed / len(tests)}\n")
