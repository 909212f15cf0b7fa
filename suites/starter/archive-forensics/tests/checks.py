"""Grades archive-forensics: compares findings.json and the recovered ledger with what the evidence says."""

import json
from pathlib import Path


def written(name: str) -> bytes:
    path = Path("/app", name)
    if not path.is_file() or path.resolve() != path:
        raise FileNotFoundError(f"there is no file {path}")
    return path.read_bytes()


def findings(*keys: str) -> list[str]:
    found = json.loads(written("findings.json"))
    return [found[key] for key in keys]


def payment() -> str | None:
    return (
        None
        if findings("payment", "before", "after") == ["P-1047", "1250.00", "7250.00"]
        else "wrong payment or amounts"
    )


def person() -> str | None:
    return None if findings("person") == ["rkessler"] else "that is not the person who did it"


def time() -> str | None:
    return (
        None if findings("at") == ["2024-05-15T00:41:07Z"] else "that is not when the ledger was opened for the change"
    )


def recovered_ledger() -> str | None:
    good = Path("/tests/ledger.csv").read_bytes()
    return None if written("recovered/ledger.csv") == good else "recovered/ledger.csv is not the last good version"


CHECKS = (payment, person, time, recovered_ledger)


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
