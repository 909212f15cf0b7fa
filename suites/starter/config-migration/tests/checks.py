"""Grades config-migration: compares gateway.json, value by value and type by type, with expected.json."""

import json
from pathlib import Path

EXPECTED = json.loads(Path("/tests/expected.json").read_text(encoding="utf-8"))


def written() -> str:
    path = Path("/app/gateway.json")
    if not path.is_file() or path.resolve() != path:
        raise FileNotFoundError("there is no file /app/gateway.json")
    return path.read_text(encoding="utf-8")


def differs(*kinds: type) -> str | None:
    """Names the first key whose expected value has one of these types and that has another value."""
    got = json.loads(written())
    for section, values in EXPECTED.items():
        for key, value in values.items():
            # compared as JSON text, where true is not 1 and 16 is not 16.0
            if type(value) in kinds and json.dumps(got.get(section, {}).get(key)) != json.dumps(value):
                return f"wrong value of '{key}' in '{section}'"
    return None


def layout() -> str | None:
    text, got = written(), json.loads(written())
    if list(got) != list(EXPECTED):
        return "the sections are not those of the old file, in its order"
    forms = [json.dumps(got, indent=2, ensure_ascii=ascii_only) + "\n" for ascii_only in (True, False)]
    return None if text in forms else "it is not indented as asked"


def keys() -> str | None:
    got = json.loads(written())
    wrong = [name for name in EXPECTED if list(got.get(name, {})) != list(EXPECTED[name])]
    return f"section '{wrong[0]}' does not have the right keys in the right order" if wrong else None


def texts() -> str | None:
    return differs(str)


def numbers_and_booleans() -> str | None:
    return differs(int, bool)


def lists() -> str | None:
    return differs(list)


CHECKS = (layout, keys, texts, numbers_and_booleans, lists)


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
