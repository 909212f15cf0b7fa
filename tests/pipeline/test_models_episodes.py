"""The offline worker under real harnesses, sandbox and verifiers: each weakness shows, its own edit mends it.

In pi, which offers its tools as functions, and in the default loop of kit-python, which describes them in its prompt.
"""

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from wmo_contracts.episode import ModelRef
from wmo_episode.documents import episode_document
from wmo_episode.runtimes import runtime_for, vendored_runtime
from wmo_harness.seeds import SEEDS, named_seed
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import parse_tree
from wmo_harness.tree_io import read_tree, write_tree
from wmo_kit.config import Config
from wmo_models.endpoint import open_provider
from wmo_models.offline.hypotheses import HYPOTHESES, Hypothesis
from wmo_models.offline.recipe import bundled_recipes
from wmo_models.provider import Provider
from wmo_propose.request import write_request
from wmo_propose.workspace import ManifestEntry
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task, load_suite
from wmo_suites.verifier import verify
from wmo_suites.workspace import copy_workspace, remove_workspace

ROOT = Path(__file__).parents[2]
TASKS = load_suite(ROOT / "suites" / "starter")
WEAKNESS = {recipe.task: recipe.weakness for recipe in bundled_recipes()}
TOOLS_RULE, CHECK_ADVICE, GATE, KIT_GATE, CAP, PLAN, BRIEF, SKILL = HYPOTHESES
GATES = {"pi": GATE, "baseline": KIT_GATE}
ENDS = {
    "none": "submitted",
    "prose": "no_tool_call",
    "unchecked": "submitted",
    "long-write": "unparsed_tool_call",
    "wanders": "max_turns",
    "skill": "submitted",
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Provider]:
    with open_provider(Config(), "worker") as provider:
        yield provider


def edited(folder: Path, seed: str, ideas: Sequence[Hypothesis]) -> SourceTree:
    """The seed after the optimizer's own commands for `ideas`."""
    tree = named_seed(seed, None)
    write_tree(tree, folder / "candidate")
    standing = ManifestEntry(
        candidate_id="candidate-0000", slot=0, kind="scored", score=0.5, pass_rate=0.5, summary="", reason=""
    )
    (folder / "REQUEST.md").write_text(write_request(1, 1, parse_tree(tree), [standing]))
    for idea in ideas:
        done = subprocess.run(["bash", "-c", idea.edit], cwd=folder, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("edited candidate/")
    return read_tree(folder / "candidate")


def play(worker: Provider, tree: SourceTree, task: Task, folder: Path) -> tuple[str, bool]:
    """One trial: why the episode ended, and whether the verifier gave the full reward."""
    spec = parse_tree(tree)
    model = ModelRef(name="offline-worker")
    document = episode_document(spec, tree, task, harness_path="", task_path="", model=model)
    agent = runtime_for(document, tree, worker, vendored_runtime(spec.runtime_kind, None, "bwrap"))
    workspace, logs = folder / "app", folder / "logs"
    folder.mkdir()
    copy_workspace(task, workspace)
    with Sandbox(workspace, limits=task.limits) as sandbox:
        result = agent.run(task.id, task.instruction, sandbox)
    verdict = verify(task, workspace, logs)
    remove_workspace(workspace)
    return result.stop_reason, verdict.reward == 1.0


def play_all(worker: Provider, tree: SourceTree, folder: Path) -> dict[str, tuple[str, bool]]:
    with ThreadPoolExecutor(4) as pool:
        outcomes = pool.map(lambda task: play(worker, tree, task, folder / task.id), TASKS)
    return {task.id: outcome for task, outcome in zip(TASKS, outcomes, strict=True)}


def solved(outcomes: dict[str, tuple[str, bool]]) -> set[str]:
    """The weaknesses of the tasks that were solved."""
    return {WEAKNESS[task] for task, (_, right) in outcomes.items() if right}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_seed_fails_by_each_weakness_in_its_own_way(worker, tmp_path, seed):
    outcomes = play_all(worker, named_seed(seed, None), tmp_path)
    assert {task: stop for task, (stop, _) in outcomes.items()} == {task: ENDS[WEAKNESS[task]] for task in outcomes}
    assert {task for task, (_, right) in outcomes.items() if right} == {
        task for task, weakness in WEAKNESS.items() if weakness == "none"
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_all_good_edits_together_solve_every_task(worker, tmp_path, seed):
    tree = edited(tmp_path, seed, [TOOLS_RULE, GATES[seed], CAP, BRIEF, SKILL])
    outcomes = play_all(worker, tree, tmp_path)
    assert {task for task, outcome in outcomes.items() if outcome != ("submitted", True)} == set()


@pytest.mark.parametrize("seed", SEEDS)
def test_edits_that_should_not_help_do_not_help(worker, tmp_path, seed):
    tree = edited(tmp_path, seed, [TOOLS_RULE, CHECK_ADVICE, PLAN])
    assert solved(play_all(worker, tree, tmp_path)) == {"none"}
