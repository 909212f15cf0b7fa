"""Grades flaky-test: runs the pristine tests, and more, over a copy of /app/stock in many orders and hash seeds."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = (
    "test_tags_are_listed_once_in_order",
    "test_an_item_is_free_at_first",
    "test_a_reserved_item_is_refused_to_others",
    "test_a_reservation_ends",
    "test_summary_names_free_items",
)
SHELVES = """
import sys
from stock.shelf import Shelf
mine, other = {"saw": ("ann", 50.0)}, Shelf(lambda: 10.0)
shelf = Shelf(lambda: 10.0, mine)
assert shelf.holder("saw") == "ann" and shelf.reserve("drill", "bob"), "reservations to begin with do not hold"
assert mine == {"saw": ("ann", 50.0)}, "the caller's reservations were changed"
assert other.holder("saw") is None and other.holder("drill") is None, "two shelves know of each other"
assert Shelf(clock=lambda: 10.0).holder("drill") is None, "a new shelf knows of an old one"
print("OK", file=sys.stderr)
"""
ORDER = """
import sys
from stock.shelf import Shelf
shelf = Shelf(clock=lambda: 0)
for item, tags in (("zip", ["q", "b"]), ("axe", ["z", "a", "q"]), ("mug", ["c", "b"]), ("zip", ["y"])):
    shelf.add(item, tags)
assert shelf.tags() == ["q", "b", "y", "z", "a", "c"], "the tags are not in the order of the docstring"
assert shelf.summary() == "free: zip, axe, mug", "the free items are not in the order of the docstring"
assert shelf.reserve("axe", "ann") and shelf.summary() == "free: zip, mug", "the summary names a reserved item"
print("OK", file=sys.stderr)
"""


def apart(command: list[str]) -> list[str]:
    """The command line that runs a program of the agent's where it sees neither /tests nor /logs, nor this process."""
    script = "/opt/wmo/apart.sh"  # wmo brings it; elsewhere, as in Docker, the program runs beside us
    return ["bash", script, *command] if Path(script).exists() else command


subprocess.run(apart(["true"]), check=True, timeout=10)  # else no reward: a box that cannot be made is nobody's failing


def run(arguments: list[str], seed: int) -> str | None:
    """Runs python beside a copy of stock and the pristine tests; what went wrong, if it fails."""
    room = Path("/tmp/room")
    shutil.rmtree(room, ignore_errors=True)
    shutil.copytree("/app/stock", room / "stock", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy("/tests/given/test_shelf.py", room)
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": str(seed)}
    command = apart([sys.executable, "-s", "-B", *arguments])
    done = subprocess.run(command, cwd=room, env=environment, capture_output=True, text=True, timeout=10)
    last = done.stderr.strip().rpartition("\n")[2]
    if done.returncode == 0 and last == "OK":  # the exit status alone is not enough: the package could end the process
        return None
    return last if last.startswith(("AssertionError: ", "FAILED")) else last.partition(":")[0] or "exit without a word"


def first(failures) -> str | None:
    """The first failure, or None where there is none."""
    return next((why for why in failures if why), None)


def chosen(names) -> list[str]:
    return ["-m", "unittest", *(f"test_shelf.ShelfTest.{name}" for name in names)]


def hash_seeds() -> str | None:
    why = first(run(chosen(TESTS[:1] + TESTS[-1:]), seed) for seed in range(1, 25))
    return why and f"the tests fail with some hash seed: {why}"


def any_order() -> str | None:
    orders = [TESTS, TESTS[::-1], *(random.Random(seed).sample(TESTS, len(TESTS)) for seed in range(8))]
    why = first(run(chosen(order), seed) for seed, order in enumerate(orders))
    return why and f"the tests fail in some order: {why}"


def independent_shelves() -> str | None:
    return run(["-c", SHELVES], 0)


def promised_order() -> str | None:
    return first(run(["-c", ORDER], seed) for seed in range(1, 9))


CHECKS = (hash_seeds, any_order, independent_shelves, promised_order)


# The report: these lines are the same in every task. The reward first: nothing after it can lose it.
tests = []
for check in CHECKS:
    try:
        why = check() or ""
    except Exception as error:  # a workspace that cannot be read is a wrong one
        why = f"{type(error).__name__}: {error}"[:200]
    name, status = check.__name__.replace("_", "-"), "failed" if why else "passed"
    tests.append({"name": name, "status": status, "duration": 0, "message": why})
passed = sum(test["status"] == "passed" for test in tests)
Path("/logs/verifier/reward.txt").write_text(f"{passed / len(tests)}\n")
counts = {"tests": len(tests), "passed": passed, "failed": len(tests) - passed, "pending": 0, "skipped": 0, "other": 0}
ctrf = {"results": {"tool": {"name": "checks"}, "summary": {**counts, "start": 0, "stop": 0}, "tests": tests}}
Path("/logs/verifier/ctrf.json").write_text(json.dumps(ctrf, indent=2) + "\n")
for test in tests:
    print(f"not ok {test['name']}: {test['message']}" if test["message"] else f"ok {test['name']}")
