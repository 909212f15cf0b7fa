"""Grades text-encoding: compares the bytes in /app/out with the texts of expected.json."""

import json
from pathlib import Path

# file name -> {"encoding": what it had, "text": what it says}
EXPECTED = json.loads(Path("/tests/expected.json").read_text(encoding="utf-8"))


def out(name: str) -> bytes:
    path = Path("/app/out", name)
    if not path.is_file() or path.resolve() != path:
        raise FileNotFoundError(f"there is no file {path}")
    return path.read_bytes()


def wrong(*encodings: str) -> str | None:
    """Names the first file that had one of these encodings and is not the right bytes now."""
    for name, entry in EXPECTED.items():
        if entry["encoding"] in encodings and out(name) != entry["text"].encode():
            return f"out/{name} is not the text in the form asked for"
    return None


def utf_8_files() -> str | None:
    return wrong("utf-8")


def utf_16_files() -> str | None:
    return wrong("utf-16-le", "utf-16-be")


def windows_files() -> str | None:
    return wrong("windows-1252")


def mixed_file() -> str | None:
    return wrong("mixed")


def index() -> str | None:
    rows = [f"{name}\t{entry['encoding']}\t{len(entry['text'])}\n" for name, entry in sorted(EXPECTED.items())]
    return None if out("index.tsv").decode() == "".join(rows) else "index.tsv has a wrong row"


CHECKS = (utf_8_files, utf_16_files, windows_files, mixed_file, index)


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
