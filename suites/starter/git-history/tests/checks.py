"""Grades git-history: reads every object of /app/repo and compares its commits, tags and trees with expected.json."""

import json
import os
import subprocess
from pathlib import Path

REPO = Path("/app/repo")
TOKEN = b"tok_live_9f3b7c21e8"
# "refs": name -> object type; "tag": the annotated tag's text; "commits": branch -> commits, newest first, each
# {"tree", "parents" (how many), "people" (author and committer with their dates), "message"}
EXPECTED = json.loads(Path("/tests/expected.json").read_text(encoding="utf-8"))


def apart(command: list[str]) -> list[str]:
    """The command line that runs git, and what the repository has it run, without /tests, /logs or us."""
    script = "/opt/wmo/apart.sh"  # wmo brings it; elsewhere, as in Docker, the program runs beside us
    return ["bash", script, *command] if Path(script).exists() else command


subprocess.run(apart(["true"]), check=True, timeout=10)  # else no reward: a box that cannot be made is nobody's failing


def git(*arguments: str) -> bytes:
    """What git prints; replacement objects and the configuration of the machine do not count."""
    environment = {**os.environ, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    command = [
        "git",
        "-C",
        str(REPO),
        f"--git-dir={REPO}/.git",
        f"--work-tree={REPO}",
        "-c",
        "core.fsmonitor=false",
        *arguments,
    ]
    done = subprocess.run(apart(command), env=environment, capture_output=True, timeout=10)
    if done.returncode:
        raise ValueError(f"/app/repo is not the repository asked for: 'git {arguments[0]}' fails")
    return done.stdout


def commits(branch: str) -> list[dict]:
    """The commits of a branch in the form of EXPECTED."""
    found = []
    for name in git("rev-list", "--topo-order", f"refs/heads/{branch}").decode().split():
        head, _, message = git("cat-file", "commit", name).decode().partition("\n\n")
        lines = [line.partition(" ") for line in head.splitlines()]
        people = [f"{key} {text}" for key, _, text in lines if key in ("author", "committer")]
        parents = sum(key == "parent" for key, _, _ in lines)
        found.append({"tree": lines[0][2], "parents": parents, "people": people, "message": message.rstrip("\n")})
    return found


def differs(*keys: str) -> str | None:
    """Names the first branch on which these parts of the commits are not as expected."""
    for branch, want in EXPECTED["commits"].items():
        got = commits(branch)
        if [[commit[key] for key in keys] for commit in got] != [[commit[key] for key in keys] for commit in want]:
            return f"the {' or '.join(keys)} of a commit on {branch} is not right"
    return None


def token_gone() -> str | None:
    if TOKEN in git("cat-file", "--batch-all-objects", "--batch", "--unordered"):
        return "an object in the repository still holds the token"
    if any(TOKEN in path.read_bytes() for path in REPO.rglob("*") if path.is_file()):
        return "a file below /app/repo still holds the token"
    return None if len(commits("main")) == len(EXPECTED["commits"]["main"]) else "main has not all its commits"


def branches_and_tags() -> str | None:
    refs = dict(
        line.split(" ") for line in git("for-each-ref", "--format=%(refname) %(objecttype)").decode().splitlines()
    )
    if refs != EXPECTED["refs"]:
        return "the refs are not the branches and tags of the bundle, each of its kind"
    if git("cat-file", "tag", "v1.0").decode().partition("\n")[2] != EXPECTED["tag"]:
        return "the annotated tag is not what it was"
    merged = (
        git("merge-base", "refs/tags/v1.0^{}", "refs/heads/release/1.x"),
        git("rev-parse", "refs/heads/release/1.x~1"),
    )
    return (
        None
        if merged[0] == merged[1] and git("rev-parse", "v1.1") == git("rev-parse", "main")
        else "a tag is on another commit"
    )


def people_and_dates() -> str | None:
    return differs("people", "parents")


def messages() -> str | None:
    return differs("message")


def files() -> str | None:
    if git("symbolic-ref", "HEAD") != b"refs/heads/main\n" or git("status", "--porcelain", "--ignored"):
        return "main is not checked out, or the work tree is not clean"
    return differs("tree")


CHECKS = (token_gone, branches_and_tags, people_and_dates, messages, files)


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
