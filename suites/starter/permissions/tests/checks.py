"""Grades permissions: walks /app/site and /app/vault without following links, and compares with expected.json."""

import json
import os
import stat
from pathlib import Path

# path -> {"mode": octal} and "text" for files, "link" for symbolic links
EXPECTED = json.loads(Path("/tests/expected.json").read_text())


def found(path: str) -> dict:
    """What is at this path below /app, in the form of EXPECTED."""
    place = Path("/app", path)
    if place.is_symlink():
        return {"link": os.readlink(place)}
    mode = format(stat.S_IMODE(place.lstat().st_mode), "o")
    return {"mode": mode, "text": place.read_text()} if place.is_file() else {"mode": mode}


def wrong(paths: list[str]) -> str | None:
    """Names the first of these paths that is not as expected."""
    for path in paths:
        got = found(path)
        if got != EXPECTED[path]:
            same_kind = got.keys() == EXPECTED[path].keys()
            return f"{path} has the wrong mode or content" if same_kind else f"{path} is of the wrong kind"
    return None


def site(*, script: bool = False, directory: bool = False) -> list[str]:
    """The paths of site outside conf/secrets that are scripts, directories or ordinary files."""
    return [
        path
        for path, entry in EXPECTED.items()
        if path.startswith("site")
        and "/secrets" not in path
        and "mode" in entry
        and ("text" not in entry) == directory
        and entry.get("text", "").startswith("#!") == script
    ]


def ordinary_files() -> str | None:
    return wrong(site())


def scripts() -> str | None:
    return wrong(site(script=True))


def directories() -> str | None:
    return wrong(site(directory=True))


def secrets() -> str | None:
    return wrong([path for path in EXPECTED if "/secrets" in path])


def vault_and_links() -> str | None:
    there = {
        os.path.relpath(os.path.join(root, name), "/app")
        for top in ("site", "vault")
        for root, folders, files in os.walk(f"/app/{top}")
        for name in folders + files
    }
    if there != set(EXPECTED) - {"site", "vault"}:
        return "a file, directory or link is missing or new"
    return wrong([path for path, entry in EXPECTED.items() if "link" in entry or path.startswith("vault")])


CHECKS = (ordinary_files, scripts, directories, secrets, vault_and_links)


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
