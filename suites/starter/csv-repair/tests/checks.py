"""Grades csv-repair: compares orders.clean.csv, read as CSV, with the rows of expected.json."""

import csv
import json
from pathlib import Path

EXPECTED = json.loads(Path("/tests/expected.json").read_text(encoding="utf-8"))
HEADER = ["order_id", "date", "customer", "note", "amount"]


def columns(*names: str) -> tuple[list, list]:
    """These columns of the rows that were written, and of the rows that should have been."""
    path = Path("/app/orders.clean.csv")
    if not path.is_file() or path.resolve() != path:
        raise FileNotFoundError("there is no file /app/orders.clean.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines, strict=True)
    if header != HEADER or any(len(row) != len(HEADER) for row in rows):
        raise ValueError("the header or the number of columns of a row is wrong")
    wanted = [HEADER.index(name) for name in names]
    return [[row[i] for i in wanted] for row in rows], [[row[i] for i in wanted] for row in EXPECTED]


def order_ids() -> str | None:
    got, want = columns("order_id")
    return None if got == want else f"{len(got)} rows, but not each order once in the order asked for"


def dates() -> str | None:
    got, want = columns("order_id", "date")
    return None if got == want else "at least one date is wrong"


def amounts() -> str | None:
    got, want = columns("order_id", "amount")
    return None if got == want else "at least one amount is wrong"


def texts() -> str | None:
    got, want = columns("order_id", "customer", "note")
    return None if got == want else "at least one customer or note is not the text of the order"


CHECKS = (order_ids, dates, amounts, texts)


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
