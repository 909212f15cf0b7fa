"""SIGKILL of the real wmo-propose and wmo-score between any two pieces of evidence; the same command goes on.

What is compared is the whole run but its timeline, with one that nothing hit; what is counted are the paid turns.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
KILLER = Path(__file__).with_name("durable_steps.py")
AGENT = 'echo turn >> "$TURNS"; [ -n "$REJECT" ] || echo Work carefully. >> candidate/SYSTEM.md; echo Done'
TOOL = {"scored": "wmo-score", "proposed": "wmo-propose", "rejected": "wmo-propose", "ended": "wmo-score"}
BEFORE = {"scored": "new", "proposed": "scored", "rejected": "scored", "ended": "proposed"}
TASK = {
    "task.toml": 'version = "1.0"\n',
    "instruction.md": "Do it.\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt; echo checked\n",
    "environment/workspace/a": "",
}


class Stages:
    """A run of one slot at each of its stages, as nothing ever hit it."""

    def __init__(self, root: Path, top: Path) -> None:
        self.root, self.top, self.paid = root, top, top / "paid"
        self.paid.mkdir()
        for name, text in TASK.items():
            path = top / "suite/weigh" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def call(self, folder: Path, *argv: object, stage: str = "", killed: bool = False) -> None:
        """Call a tool on the way to `stage`; it must succeed, or reject, or have been killed where that is asked."""
        env = {**os.environ, "TURNS": str(self.turns(folder)), "REJECT": "yes" if stage == "rejected" else ""}
        line = [*map(str, argv)]
        done = subprocess.run(line, cwd=self.root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == (-9 if killed else int(stage == "rejected")), done.stderr
        assert "Traceback" not in done.stderr

    def get(self, stage: str) -> Path:
        """Give the folder with `run`."""
        folder = self.top / stage
        if not folder.exists() and stage == "new":
            folder.mkdir()
            seed = ("--seed", "pi", "--suite", self.top / "suite", "--slots", 1)
            opened = ("env:TURNS", "env:REJECT", f"write:{self.paid}")
            allow = (part for word in opened for part in ("--allow", word))
            agent = ("--proposer", "command", *allow, "--", "sh", "-c", AGENT)
            self.call(folder, BIN / "wmo-state", "init", folder / "run", *seed, *agent)
        elif not folder.exists():
            self.advance(self.copy(BEFORE[stage], stage), stage)
        return folder

    def turns(self, folder: Path) -> Path:
        """Give the file with a line for each turn that was paid in `folder`."""
        return self.paid / folder.name

    def copy(self, stage: str, to: str) -> Path:
        return Path(shutil.copytree(self.get(stage), self.top / to))

    def advance(self, folder: Path, stage: str) -> None:
        self.call(folder, BIN / TOOL[stage], "--run", folder / "run", stage=stage)

    def kill(self, folder: Path, stage: str, *moment: str) -> None:
        tool = (TOOL[stage], "--run", folder / "run")
        self.call(folder, sys.executable, KILLER, folder / "run", *moment, *tool, stage=stage, killed=True)


@pytest.fixture(scope="module")
def stages(root, tmp_path_factory):
    return Stages(root, tmp_path_factory.mktemp("kill"))


def same_run(evidence, folder: Path, calm: Path) -> bool:
    """Compare two runs, but for proposer turns that were cut short."""
    found = {name: data for name, data in evidence(folder / "run").items() if "slot-0001/attempt-" not in name}
    return found == evidence(calm / "run")


TURN, CANDIDATE = "proposals/slot-0001", "candidates/candidate-0001"


@pytest.mark.parametrize(
    ("stage", "function", "ending", "how", "turns"),
    [
        ("proposed", "replace", f"{TURN}/REQUEST.md", "after", 1),
        ("proposed", "replace", f"{TURN}/events.json", "before", 2),
        ("proposed", "replace", f"{TURN}/source", "after", 2),
        ("proposed", "replace", f"{TURN}/status.json", "before", 2),
        ("proposed", "replace", f"{TURN}/status.json", "after", 1),
        ("proposed", "replace", f"{CANDIDATE}/source", "before", 1),
        ("proposed", "replace", f"{CANDIDATE}/proposal.json", "after", 1),
        ("proposed", "replace", f"{CANDIDATE}/pending.json", "before", 1),
        ("rejected", "replace", f"{TURN}/error.json", "after", 2),
        ("rejected", "replace", f"{TURN}/status.json", "after", 1),
        ("rejected", "replace", f"{CANDIDATE}/error.json", "before", 1),
        ("rejected", "replace", f"{CANDIDATE}/error.json", "after", 1),
    ],
)
def test_a_turn_with_a_verdict_is_never_paid_twice(stages, evidence, stage, function, ending, how, turns, request):
    folder = stages.copy("scored", request.node.name.replace("/", "-"))
    stages.kill(folder, stage, function, ending, how)
    stages.advance(folder, stage)
    assert same_run(evidence, folder, stages.get(stage))
    assert len(stages.turns(folder).read_text().splitlines()) == turns
    aside = [path.name for path in (folder / "run" / TURN).glob("attempt-*")]
    assert aside == (["attempt-1"] if turns == 2 or "REQUEST" in ending else [])


@pytest.mark.parametrize(
    ("function", "ending", "how", "kept"),
    [
        ("replace", "attempt-1/episode.json", "after", False),
        ("replace", "attempt-1/wmo-run.json", "after", False),
        ("write", "attempt-1/verifier/output.txt", "amid", False),
        ("replace", "attempt-1/cell.json", "before", False),
        ("replace", "attempt-1/cell.json", "after", True),
        ("replace", "candidate-0001/report.json", "before", True),
        ("replace", "candidate-0001/report.json", "after", True),
    ],
)
def test_a_finished_trial_is_never_run_twice(stages, evidence, function, ending, how, kept, request):
    folder = stages.copy("proposed", request.node.name.replace("/", "-"))
    stages.kill(folder, "ended", function, ending, how)
    cell = folder / "run" / CANDIDATE / "trials/weigh/attempt-1/cell.json"
    assert cell.exists() == kept
    before = cell.stat().st_mtime_ns if kept else None
    stages.advance(folder, "ended")
    assert same_run(evidence, folder, stages.get("ended"))
    assert not kept or cell.stat().st_mtime_ns == before


def test_a_commit_that_was_all_but_done_is_done_by_the_next_command(stages, evidence):
    folder = stages.copy("proposed", "committed")
    stages.kill(folder, "ended", "unlink", f"{CANDIDATE}/pending.json", "before")
    stages.call(folder, BIN / "wmo-state", "init", folder / "run")  # what `make run` begins with
    assert same_run(evidence, folder, stages.get("ended"))
