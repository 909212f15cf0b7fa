"""What the cross-tool tests share: the installed tools, and the comparison of two run directories."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="session")
def root() -> Path:
    """Give the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shell():
    """Give a function that runs a bash line with the installed tools on PATH, from the checkout, as a user would."""

    def run(line: str, *, cwd: Path = ROOT, env: dict[str, str] | None = None, stdin: str = ""):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WMO_")}
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=cwd,
            env={**clean, "PATH": f"{BIN}:{os.environ['PATH']}", **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    return run


def without_wall_times(value):
    """Give a JSON value without the `timings` that stand anywhere in it."""
    if isinstance(value, dict):
        return {key: without_wall_times(item) for key, item in value.items() if key != "timings"}
    if isinstance(value, list):
        return [without_wall_times(item) for item in value]
    return value


@pytest.fixture(scope="session")
def evidence():
    """Give a function that reads a run directory: path -> content, wall times and events.jsonl left out."""

    def read(run: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        for path in sorted(run.rglob("*")):
            name = path.relative_to(run).as_posix()
            if not path.is_file() or name in {"events.jsonl", ".lock"}:
                continue
            data = path.read_bytes()
            found[name] = without_wall_times(json.loads(data)) if name.endswith(".json") else data
        return found

    return read
