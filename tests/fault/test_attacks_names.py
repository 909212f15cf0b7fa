"""Words and names that try to steer a terminal, leave a path, or reach a shell."""

import json
import re
import shutil
from pathlib import Path

import pytest
from wmo_kit.errors import BadDocument
from wmo_suites.task import load_task
from wmo_suites.workspace import copy_workspace

SILENT = Path(__file__).parents[2] / "packages" / "wmo-suites" / "tests" / "tasks" / "silent"
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2028\rforged"
NAME = "-rf $(touch pwned)`touch pwned`;touch pwned'\"\n\x1b[2J\u202e<script>alert(1)</script>"
STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
CANDIDATE = f"""import os, sys
def run(kit):
    print({EVIL!r}, file=sys.stderr)
    kit.execute({EVIL!r}, {{{EVIL!r}: {EVIL!r}}})
    sys.stderr.flush()
    os._exit(3)
"""


def make_task(folder: Path, name: str) -> Path:
    """Make a task whose workspace, instruction and verifier have words of the worst kind."""
    task = folder / name
    shutil.copytree(SILENT, task)
    (task / "instruction.md").write_text(f"Do {EVIL}.\n")
    (task / "environment" / "workspace" / NAME.replace("/", "-")).write_text(EVIL)
    (task / "tests" / "test.sh").write_text(
        f"printf '%s\\n' {json.dumps(EVIL)}; cd /logs/verifier; touch -- \"$(ls /app | head -1)\"\n"
        "touch $'\\e[2J' $'a\\nb'; echo 0 > reward.txt\n"
    )
    return task


def test_a_scoring_shows_nothing_that_steers_and_keeps_the_words_exact(shell, tmp_path):
    make_task(tmp_path / "suite", "worst")
    seed = tmp_path / "seed"
    seed.mkdir()
    (seed / "SYSTEM.md").write_text("You act.\n")
    (seed / "runtime.py").write_text(CANDIDATE)
    line = f"wmo-materialize --snapshot {seed} | wmo-score - --suite {tmp_path}/suite --keep {tmp_path}/kept"
    done = shell(line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "worst #1 fail" in done.stderr
    assert not STEERS.search(done.stderr)
    result = json.loads(next((tmp_path / "kept").rglob("wmo-run.json")).read_text())
    assert EVIL.strip() in result["note"]
    assert not list(tmp_path.rglob("pwned"))
    logs = next((tmp_path / "kept").rglob("verifier"))
    assert all(path.name.isprintable() for path in logs.iterdir())


@pytest.mark.parametrize(
    "line",
    [
        "wmo-score --suite $'/nowhere/\\e[2J\\u202e' --agent nop",
        "wmo-state status $'/nowhere/\\e[2J\\u202e'",
        "wmo-state status run --log-json $'\\e[2J'",
        "wmo-score $'\\e]0;x\\a.json' --suite suites/starter",
        "wmo-materialize --snapshot $'/nowhere/\\e[2J\\r'",
        'printf \'{"schema": "wmo.\\xc2\\x9b31m/1"}\' | wmo-materialize --into /nowhere/x',
    ],
)
def test_an_error_about_a_hostile_name_shows_it_escaped(shell, line):
    done = shell(line)
    assert done.returncode not in {0, 70}
    assert done.stderr
    assert not STEERS.search(done.stderr)


@pytest.mark.parametrize(
    "name", ["..", ".hidden", "a b", "a\n", "a;b", "$(x)", "-a", "a'b", "A", "\x1b[2J", "a\u202e", "<b>"]
)
def test_a_task_whose_name_could_break_something_is_refused(tmp_path, name):
    folder = tmp_path / "x" / name
    if name != "..":
        shutil.copytree(SILENT, folder)
    with pytest.raises(BadDocument, match="bad task name"):
        load_task(folder)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "a/../../../x"])
def test_a_tasks_workspace_cannot_bring_a_host_file_in(tmp_path, target):
    task = make_task(tmp_path, "worst")
    (task / "environment" / "workspace" / "link").symlink_to(target)
    with pytest.raises(BadDocument, match="must stay inside"):
        copy_workspace(load_task(task), tmp_path / "app")
