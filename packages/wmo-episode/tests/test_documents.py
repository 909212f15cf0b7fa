from dataclasses import replace

import pytest
from wmo_contracts.episode import ModelRef
from wmo_episode.documents import episode_document, read_episode
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import parse_tree
from wmo_harness.tree_io import write_tree
from wmo_kit.errors import BadDocument
from wmo_suites.limits import SandboxLimits
from wmo_suites.task import Task

SKILL = "---\nname: count-rows\ndescription: how to count\n---\nUse wc -l."
TREE = SourceTree.from_mapping(
    {
        "SYSTEM.md": "Act.\n",
        "config.toml": '[harness]\ntools = ["bash", "submit"]\nmax_turns = 5\ntemperature = 1\n',
        "skills/count-rows.md": SKILL,
        "src/index.ts": "export {};\n",
    }
)


@pytest.fixture
def task(tmp_path):
    return Task(
        id="count",
        path=tmp_path / "count",
        instruction="Count.",
        agent_timeout_s=90.0,
        verifier_timeout_s=60.0,
        verifier_environment="fresh",
        limits=replace(SandboxLimits(), command_timeout_s=11.0),
    )


@pytest.fixture
def document(task):
    return episode_document(
        parse_tree(TREE),
        TREE,
        task,
        harness_path="../source",
        task_path="../count",
        model=ModelRef(name="m"),
        context_window=9000,
    )


def test_harness_and_task_say_everything(document):
    assert document.system == (
        "Act.\n\nSkills are written procedures. Read one with read_skill(name) before work that it describes.\n"
        "- count-rows: how to count\n"
    )
    assert [tool.name for tool in document.tools] == ["bash", "submit", "read_skill"]
    assert document.skills[0].content == "Use wc -l."
    limits = document.limits
    assert (limits.max_turns, limits.temperature, limits.max_output_tokens) == (5, 1.0, 4096)
    assert (limits.timeout_s, limits.grace_s, limits.max_env_actions, limits.context_window) == (90.0, 60.0, 40, 9000)
    assert document.environment.command_timeout_s == 11.0
    assert document.harness.tree_hash == tree_hash(TREE)


def test_paths_are_relative_to_the_documents_own_folder(document, tmp_path):
    write_tree(TREE, tmp_path / "source")
    folder = tmp_path / "trial"
    folder.mkdir()
    path = folder / "episode.json"
    path.write_text(document.to_text())
    episode = read_episode(str(path))
    assert (episode.document, episode.files) == (document, TREE)
    assert episode.task_path.resolve() == tmp_path / "count"
    write_tree(SourceTree.from_mapping({"SYSTEM.md": "Other.\n"}), tmp_path / "source")
    with pytest.raises(BadDocument, match="tree_hash"):
        read_episode(str(path))
