"""A real run whose seed is scored, made with the run directory's own writer."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from wmo_contracts.run import ModelSettings, ProposerSettings, RunSettings
from wmo_contracts.score import ScoreCell, ScoreReport, ScoreRequest
from wmo_harness.pi_agent import find_vendor_dir
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_harness.tree_io import write_tree
from wmo_population.layout import RunLayout
from wmo_population.recorded import open_run
from wmo_population.run_record import read_settings, write_settings

REQUEST = ScoreRequest(task_ids=("csv", "logs"), attempts=1)
SEED = {
    "SYSTEM.md": "Work.\n",
    "config.toml": '[harness]\nruntime_kind = "pi-node"\n',
    "src/index.ts": 'export { Agent } from "./agent.ts";\n',
    "src/agent.ts": "export class Agent {}\n",
}


INSTRUCTION = "Repair the {name} file so that the importer takes it, and leave every line as it was.\n"
CHECK = """\
#!/bin/bash
set -euo pipefail
# A row without an amount must have been moved to the end of the file.
[ "$(tail -n 1 /app/out)" = "7,Ann," ] && echo 1 > /logs/verifier/reward.txt
"""


def write_suite(folder: Path) -> None:
    """Make the suite that the run's record names, with the tasks of REQUEST."""
    for name in REQUEST.task_ids:
        task = folder / name
        (task / "environment/workspace").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "task.toml").touch()
        (task / "instruction.md").write_text(INSTRUCTION.format(name=name))
        (task / "tests/test.sh").write_text(CHECK)


def report_of(tree: SourceTree, passed: int) -> ScoreReport:
    cells = tuple(
        ScoreCell(
            task_id=task,
            attempt=1,
            reward=float(index < passed),
            passed=index < passed,
            artifact_dir=f"trials/{task}/attempt-1",
        )
        for index, task in enumerate(REQUEST.task_ids)
    )
    return ScoreReport(doc_hash=doc_hash(parse_tree(tree)), request=REQUEST, cells=cells)


def write_trials(layout: RunLayout, slot: int, text: str) -> None:
    for task in REQUEST.task_ids:
        trial = layout.candidate_dir(slot) / "trials" / task / "attempt-1"
        (trial / "verifier").mkdir(parents=True)
        (trial / "wmo-run.json").write_text(json.dumps({"stop_reason": "no_tool_call", "said": text}))
        (trial / "verifier" / "reward.txt").write_text("0\n")


class Made:
    """A run directory, and what tests ask of it."""

    def __init__(self, folder: Path) -> None:
        self.dir = folder
        self.layout = RunLayout(folder)

    def json(self, name: str) -> dict:
        return json.loads((self.dir / name).read_text())

    def reopened(self, *allow: str) -> Path:
        """Record what the command's box is to open; give the run."""
        settings = read_settings(self.dir)
        assert settings is not None
        proposer = settings.proposer.model_copy(update={"allow": allow})
        write_settings(self.dir, settings.model_copy(update={"proposer": proposer}))
        return self.dir

    def score_due(self, passed: int) -> None:
        with open_run(self.dir) as run:
            slot = run.next.slot
            write_trials(self.layout, slot, f"slot {slot}")
            run.commit_scored(report_of(run.due.tree, passed))


@pytest.fixture
def vendor() -> Path:
    return find_vendor_dir(None, Path(__file__))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder beside the run, for what a command leaves outside its workspace where it is allowed to."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Made]:
    def make(
        *argv: str,
        iterations: int = 3,
        seed: Mapping[str, str] = SEED,
        sandbox: str = "bwrap",
        base_url: str = "offline",
        max_rejections: int | None = None,
        allow: Sequence[str] = (),
    ) -> Made:
        """Give a run whose seed passes one of two tasks; with `argv`, its proposer is that command."""
        made = Made(tmp_path / "run")
        tree = SourceTree.from_mapping(seed)
        write_suite(made.dir / "suite")
        write_tree(tree, made.layout.source_dir(0))
        settings = RunSettings(
            seed="seed",
            seed_tree_hash=tree_hash(tree),
            seed_doc_hash=doc_hash(parse_tree(tree)),
            suite="suite",
            request=REQUEST,
            iterations=iterations,
            sandbox=sandbox,
            proposer=ProposerSettings(kind="command", argv=argv, allow=tuple(allow)) if argv else ProposerSettings(),
            worker=ModelSettings(base_url="offline", model="offline-worker", api_key_env="WMO_API_KEY"),
            proposer_model=ModelSettings(base_url=base_url, model="offline-optimizer", api_key_env="PATH"),
            max_consecutive_rejections=max_rejections,
        )
        write_settings(made.dir, settings)
        made.score_due(1)
        return made

    return make
