"""Grades write-program: runs versions.py on the given examples and on lists that it has not seen."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path("/app/versions.py")


def apart(command: list[str]) -> list[str]:
    """The command line that runs a program of the agent's where it sees neither /tests nor /logs, nor this process."""
    script = "/opt/wmo/apart.sh"  # wmo brings it; elsewhere, as in Docker, the program runs beside us
    return ["bash", script, *command] if Path(script).exists() else command


subprocess.run(apart(["true"]), check=True, timeout=10)  # else no reward: a box that cannot be made is nobody's failing


def sort(text: str) -> tuple[list[str], list[str], int]:
    """The lines of stdout and stderr and the exit status for this list."""
    if not PROGRAM.is_file() or PROGRAM.resolve() != PROGRAM:
        raise FileNotFoundError("there is no program /app/versions.py")
    command = apart([sys.executable, "-s", "-B", str(PROGRAM)])
    done = subprocess.run(command, cwd="/tmp", input=text, capture_output=True, text=True, timeout=10)
    return done.stdout.splitlines(), done.stderr.splitlines(), done.returncode


def sorts(ordered: str) -> bool:
    """Whether these versions, given from highest to lowest, come out from lowest to highest."""
    versions = ordered.split()
    return sort("\n".join(reversed(versions)) + "\n") == (versions, [], 0)


def given_examples() -> str | None:
    for given in sorted(Path("/tests/given").glob("*.in")):
        if sort(given.read_text())[0] != given.with_suffix(".out").read_text().splitlines():
            return f"the given example '{given.stem}' comes out wrong"
    return None


def pre_releases() -> str | None:
    if not sorts(
        "1.0.0-0 1.0.0-9 1.0.0-10 1.0.0--1 1.0.0-9a 1.0.0-A 1.0.0-a 1.0.0-a.1 1.0.0-a.1.0 1.0.0-a.b 1.0.0 1.0.1-0"
    ):
        return "pre-releases are in the wrong order"
    return (
        None
        if sorts("1.9.9 1.10.0-rc 1.10.0 2.0.0-x.7.z.92 2.0.0 10.0.0-1 10.0.0")
        else "releases are in the wrong order"
    )


def equal_precedence() -> str | None:
    text = "1.0.0+b\n1.0.0-x+2\n 1.0.0+a \n1.0.0\n\n1.0.0-x+1\n1.0.0+b\n0.1.0-a-b+c-d.001"
    want = ["0.1.0-a-b+c-d.001", "1.0.0-x+2", "1.0.0-x+1", "1.0.0+b", "1.0.0+a", "1.0.0", "1.0.0+b"]
    return None if sort(text) == (want, [], 0) else "versions of equal precedence are dropped, changed or moved"


def invalid_lines() -> str | None:
    bad = [
        "1.2",
        "v1.2.3",
        "01.2.3",
        "1.2.3-01",
        "1.2.3-",
        "1.2.3+",
        "1.2.3-a..b",
        "1.2.3 beta",
        "1.2.3+a+b",
        "1.2.3-é",
        "1.٢.3",
        "-1.2.3",
    ]
    for text in bad:
        if sort(f"2.0.0\n{text}\n1.0.0\n") != (["1.0.0", "2.0.0"], [f"invalid: {text}"], 1):
            return f"the invalid version '{text}' is not reported as asked"
    return None


CHECKS = (given_examples, pre_releases, equal_precedence, invalid_lines)


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
