"""Grades shell-pipeline: feeds busiest.sh the sample and logs that it has not seen, and reads what it prints."""

import json
import subprocess
from pathlib import Path

SCRIPT = Path("/app/busiest.sh")
SAMPLE = Path("/tests/sample.log")


def apart(command: list[str]) -> list[str]:
    """The command line that runs a program of the agent's where it sees neither /tests nor /logs, nor this process."""
    script = "/opt/wmo/apart.sh"  # wmo brings it; elsewhere, as in Docker, the program runs beside us
    return ["bash", script, *command] if Path(script).exists() else command


subprocess.run(apart(["true"]), check=True, timeout=10)  # else no reward: a box that cannot be made is nobody's failing


def line(client: str, size: object, request: str = "GET / HTTP/1.1") -> str:
    return f'{client} - - [12/Feb/2024:10:00:00 +0000] "{request}" 200 {size}\n'


def busiest(log: str) -> list[str]:
    """The lines that the script prints for this log."""
    if not SCRIPT.is_file() or SCRIPT.resolve() != SCRIPT:
        raise FileNotFoundError("there is no script /app/busiest.sh")
    command = apart(["bash", str(SCRIPT)])
    done = subprocess.run(command, cwd="/tmp", input=log, capture_output=True, text=True, timeout=10)
    if done.returncode:
        raise ValueError(f"busiest.sh ended with exit {done.returncode}")
    return done.stdout.splitlines()


def sample() -> str | None:
    sums: dict[str, int] = {}
    for entry in SAMPLE.read_text().splitlines():
        _, status, size = entry.rsplit(" ", 2) if entry.count('"') == 2 else ("", "", "")
        if status.isdigit():
            client = entry.split(" ", 1)[0]
            sums[client] = sums.get(client, 0) + int(size.replace("-", "0"))
    want = [f"{size}\t{client}" for client, size in sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:5]]
    return None if busiest(SAMPLE.read_text()) == want else "wrong clients or sums for the sample log"


def ties() -> str | None:
    log = "".join(
        line(client, 900) for client in ("10.0.0.9", "Z.example", "a.example", "10.0.0.10", "::1", "b.example")
    )
    log += line("b.example", 100) + line("quiet", "-")
    want = ["1000\tb.example", "900\t10.0.0.10", "900\t10.0.0.9", "900\t::1", "900\tZ.example"]
    return None if busiest(log) == want else "clients with equal sums are in the wrong order"


def large_sums() -> str | None:
    log = "".join(line("big", 2_999_999_999_999) + line("next", 2_147_483_648) + line("small", 99) for _ in range(3))
    want = ["8999999999997\tbig", "6442450944\tnext", "297\tsmall"]
    return None if busiest(log) == want else "large sums are not written out in full"


def damaged_lines() -> str | None:
    whole = line("10.0.0.1", 70, "GET /a 404 12 HTTP/1.1") + line("10.0.0.2", "-", "-") + line("10.0.0.1", 5)[:-1]
    cut = line("10.0.0.2", "")[:-2] + "\n" + line("10.0.0.3", 1)[:50] + "\n" + line("10.0.0.2", 9)[:58] + "\n\n"
    cut += '10.0.0.4 - - [12/Feb/2024:10:00:00 +0000] "GET /b 200 4096\n'
    if busiest(cut + whole) != ["75\t10.0.0.1", "0\t10.0.0.2"]:
        return "lines that were cut off, or odd requests, are counted wrongly"
    return "something is printed for an empty log" if busiest("") else None


CHECKS = (sample, ties, large_sums, damaged_lines)


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
