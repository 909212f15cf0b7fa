"""Grades fix-script: runs the repaired script on the given reports and on directories that it has not seen."""

import json
import shutil
import subprocess
from pathlib import Path

HEADER = "file\tlines\terrors\n"
GIVEN = HEADER + "archive\t5\t2\nbackup\t3\t0\nmail\t4\t1\nweb\t3\t0\nTOTAL\t15\t3\n"


def apart(command: list[str]) -> list[str]:
    """The command line that runs a program of the agent's where it sees neither /tests nor /logs, nor this process."""
    script = "/opt/wmo/apart.sh"  # wmo brings it; elsewhere, as in Docker, the program runs beside us
    return ["bash", script, *command] if Path(script).exists() else command


subprocess.run(apart(["true"]), check=True, timeout=10)  # else no reward: a box that cannot be made is nobody's failing


def plain_text(file: Path) -> str:
    """What a plain file holds: a pipe would keep us for ever."""
    if file.is_symlink() or not file.is_file():
        raise ValueError(f"{file.name} is no plain file")
    return file.read_text()


def fresh_room() -> Path:
    """An empty directory, always the same: a path in a message must not differ from run to run."""
    room = Path("/tmp/room")
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    return room


def run(directory: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = apart(["bash", "/app/collect.sh", str(directory), str(out)])
    return subprocess.run(command, cwd="/tmp", capture_output=True, text=True, timeout=10)


def collect(reports: dict[str, str]) -> str:
    """What the script writes for a directory of these reports, or its failure."""
    room = fresh_room()
    directory, out = room / "in here", room / "out.tsv"
    directory.mkdir()
    for name, text in reports.items():
        (directory / name).write_text(text)
    done = run(directory, out)
    return plain_text(out) if done.returncode == 0 else f"exit {done.returncode}"


def given_reports() -> str | None:
    summary = Path("/app/summary.tsv")
    if not summary.is_file() or summary.resolve() != summary:
        return "there is no file /app/summary.tsv"
    if plain_text(summary) != GIVEN:
        return "summary.tsv is not the summary of /app/reports"
    given = {path.name: plain_text(path) for path in Path("/app/reports").iterdir()}
    return None if collect(given) == GIVEN else "the script does not write the same summary again"


def odd_names() -> str | None:
    reports = {
        "b c.txt": "ERROR x\n",
        "-n.txt": "ok\n",
        "B*.txt": "ERROR y\nok\n",
        "%d.txt": "ok\n",
        "atxt": "ERROR z\n",
    }
    want = HEADER + "%d\t1\t0\n-n\t1\t0\nB*\t2\t1\nb c\t1\t1\nTOTAL\t5\t2\n"
    return None if collect(reports) == want else "wrong table for report names with blanks and signs"


def quiet_reports() -> str | None:
    if (
        collect({"a.txt": "", "b.txt": "fine", "c.txt": " ERROR x\nERRORS 2\nERROR"})
        != HEADER + "a\t0\t0\nb\t1\t0\nc\t3\t0\nTOTAL\t4\t0\n"
    ):
        return "wrong table for reports without errors"
    return None if collect({}) == HEADER + "TOTAL\t0\t0\n" else "wrong table for a directory without reports"


def missing_directory() -> str | None:
    out = fresh_room() / "out.tsv"
    out.write_text("yesterday\n")
    done = run(out.with_name("nowhere"), out)
    if done.returncode != 2 or not done.stderr.strip():
        return f"exit {done.returncode} for a missing directory, or no message"
    return None if plain_text(out) == "yesterday\n" else "the old summary was lost though the directory is missing"


CHECKS = (given_reports, odd_names, quiet_reports, missing_directory)


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
