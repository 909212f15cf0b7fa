"""Grades sqlite-question: compares revenue.csv with the figures of the database."""

import csv
import json
from pathlib import Path

REVENUE = [
    ("Austria", 30, 689905),
    ("Chile", 19, 607015),
    ("unknown", 20, 532605),
    ("Denmark", 7, 271555),
    ("Belgium", 11, 250790),
    ("Finland", 4, 130365),
    ("Estonia", 4, 43065),
]


def rows() -> list[tuple[str, int, int]]:
    path = Path("/app/revenue.csv")
    if not path.is_file() or path.resolve() != path:
        raise FileNotFoundError("there is no file /app/revenue.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        header, *body = csv.reader(lines)
    if header != ["country", "orders", "net_cents"]:
        raise ValueError("the header is not the one asked for")
    return [(country, int(orders), int(cents)) for country, orders, cents in body]


def countries() -> str | None:
    return (
        None if [row[0] for row in rows()] == [row[0] for row in REVENUE] else "wrong countries, or in the wrong order"
    )


def orders() -> str | None:
    return (
        None
        if sorted(row[:2] for row in rows()) == sorted(row[:2] for row in REVENUE)
        else "a number of orders is wrong"
    )


def revenue() -> str | None:
    return None if sorted(rows()) == sorted(REVENUE) else "a net revenue is wrong"


CHECKS = (countries, orders, revenue)


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
