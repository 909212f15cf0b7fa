"""Grades log-report: compares report.json with the figures of the two logs."""

import json
from pathlib import Path

ERRORS = {"2024-03-09": 4, "2024-03-10": 19, "2024-03-11": 4}
REQUESTS = {"2024-03-09": 24, "2024-03-10": 159, "2024-03-11": 37}
SLOWEST = [("203972", "/api/item/503", 12040), ("b2c5cc", "/login", 9875), ("b93668", "/api/cart", 7331)]


def report() -> dict:
    path = Path("/app/report.json")
    if not path.is_file() or path.resolve() != path:
        raise FileNotFoundError("there is no file /app/report.json")
    return json.loads(path.read_text())


def totals() -> str | None:
    if report()["requests"] != 220:
        return "the number of requests is wrong"
    return None if report()["errors"] == 27 else "the number of errors is wrong"


def requests_by_day() -> str | None:
    days = {day: entry["requests"] for day, entry in report()["by_day"].items()}
    return None if days == REQUESTS else "wrong requests for at least one day"


def errors_by_day() -> str | None:
    days = {day: entry["errors"] for day, entry in report()["by_day"].items()}
    return None if days == ERRORS else "wrong errors for at least one day"


def slowest() -> str | None:
    rows = [(row["id"], row["path"], row["ms"]) for row in report()["slowest"]]
    return None if rows == SLOWEST else "the three slowest requests are others"


CHECKS = (totals, requests_by_day, errors_by_day, slowest)


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
