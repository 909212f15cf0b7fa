"""The optimizer at work in a real folder with a real bash: what it reads, what it concludes, what it edits."""

import json
import shutil
import subprocess
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from wmo_models.offline.conversation import read_conversation
from wmo_models.offline.hypotheses import HYPOTHESES, SUMMARY_CHARACTERS
from wmo_models.offline.optimizer import next_move
from wmo_models.offline.recipe import bundled_recipes
from wmo_models.offline.reply import arguments_text
from wmo_models.offline.worker import next_move as worker_move

TOOLS = ("bash", "read_file", "submit")
SYSTEM = "You are a coding agent.\n"
CONFIG = '[harness]\ntools = ["bash", "submit"]\nmax_output_tokens = 4096\n'
LOOP = """\
import x from "x";

async function prepareToolCall(
	currentContext: AgentContext,
) {
	const tool = find();
	try {
		const preparedToolCall = prepareToolCallArguments(tool, toolCall);
	} catch (error) {}
}
"""
REQUEST = "# Improve an agent's harness\n\n- `src/**/*.ts`: the agent itself\n"
SEED = {"SYSTEM.md": SYSTEM, "config.toml": CONFIG, "src/agent-loop.ts": LOOP}
TOOLS_RULE, CHECK_ADVICE, GATE, KIT_GATE, CAP, PLAN, BRIEF, SKILL = (idea.summary for idea in HYPOTHESES)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def trials(reasons: dict[str, str]) -> dict[str, str]:
    """Evidence of a candidate whose trial of task t failed for reasons[t]; "" is a pass."""
    cells = [{"task_id": task, "attempt": 1, "passed": not reason} for task, reason in reasons.items()]
    files = {"report.json": json.dumps({"cells": cells})}
    for task, reason in reasons.items():
        trial = f"trials/{task}/attempt-1"
        files[f"{trial}/wmo-run.json"] = json.dumps({"stop_reason": reason or "submitted"})
        files[f"{trial}/verifier/output.txt"] = f"not ok checks: {task} is wrong\n" if reason else "ok checks\n"
    return files


@pytest.fixture
def workspace(tmp_path: Path) -> Callable[..., Path]:
    """Make a proposer's workspace out of (score, summary, files, reasons) a candidate, the seed first."""

    def make(*candidates: tuple[float | None, str, dict[str, str], dict[str, str]]) -> Path:
        write(tmp_path, {"REQUEST.md": REQUEST})
        entries = []
        for slot, (score, summary, files, reasons) in enumerate(candidates):
            identity = f"candidate-{slot:04d}"
            kind = "invalid" if score is None else "scored"
            entries.append(
                {"candidate_id": identity, "slot": slot, "kind": kind, "score": score, "summary": summary, "reason": ""}
            )
            write(tmp_path / "history" / identity / "source", files)
            write(tmp_path / "history" / identity, trials(reasons))
        write(tmp_path, {"history/manifest.json": json.dumps({"candidates": entries})})
        shutil.copytree(tmp_path / "history/candidate-0000/source", tmp_path / "candidate")
        return tmp_path

    return make


def propose(folder: Path, *, break_first_edit: bool = False) -> tuple[str, list[str]]:
    """Play a turn in `folder`; give the submitted summary and the commands."""
    messages = [
        {"role": "system", "content": "You improve harnesses."},
        {"role": "user", "content": "Read REQUEST.md in the current folder and do what it asks."},
    ]
    commands: list[str] = []
    for number in range(60):
        call = next_move(read_conversation(messages), TOOLS).call
        if call.name == "submit":
            return call.arguments["answer"], commands
        command = call.arguments["command"]
        commands.append(command)
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=20, check=False
        )
        output = done.stdout + done.stderr + f"\n[exit code {done.returncode}]"
        if break_first_edit and "<<'EDIT'" in command:
            output, break_first_edit = "bash: python3: command not found", False
        raw = {"id": f"call_{number}", "function": {"name": "bash", "arguments": arguments_text(call)}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [raw]},
            {"role": "tool", "tool_call_id": raw["id"], "content": output},
        ]
    raise AssertionError("no submit in 60 turns")


def changed(folder: Path, base: dict[str, str] | None = None) -> dict[str, str]:
    """The files of candidate/ that differ from `base` (the seed), with their new text."""
    files = {
        str(path.relative_to(folder / "candidate")): path.read_text()
        for path in (folder / "candidate").rglob("*")
        if path.is_file()
    }
    return {name: text for name, text in files.items() if text != (SEED if base is None else base).get(name)}


FIRST = {"a": "no_tool_call", "b": "no_tool_call", "c": "submitted", "d": "submitted", "e": "submitted", "f": ""}


def test_trials_that_never_acted_come_first(workspace):
    folder = workspace((0.1, "", SEED, FIRST))
    summary, commands = propose(folder)
    assert summary == f"{TOOLS_RULE}; 2 of 5 failing trials ended in prose (no_tool_call)"
    assert changed(folder).keys() == {"SYSTEM.md"}
    assert changed(folder)["SYSTEM.md"].startswith(SYSTEM.rstrip() + "\n\nEvery reply must contain a tool call")
    assert commands[0] == "cat REQUEST.md"


def test_then_the_most_frequent_failure_counts_and_the_best_candidate_is_the_base(workspace):
    better = {**SEED, "SYSTEM.md": SYSTEM + "\nEvery reply must contain a tool call.\n"}
    after = {"c": "submitted", "d": "submitted", "e": "max_turns", "f": "", "a": ""}
    folder = workspace((0.1, "", SEED, FIRST), (0.4, TOOLS_RULE, better, after))
    summary, _ = propose(folder)
    assert summary.startswith(f"{CHECK_ADVICE}; 2 of 3 failing trials submitted work")
    assert changed(folder)["SYSTEM.md"] == better["SYSTEM.md"] + "\nAlways check your work before you submit.\n"


def test_where_advice_was_tried_the_source_is_edited(workspace):
    reasons = {"c": "submitted", "d": "submitted"}
    history = (0.1, "", SEED, reasons), (0.1, f"{CHECK_ADVICE}; 1 of 2", {**SEED, "SYSTEM.md": "other"}, reasons)
    folder = workspace(*history)
    summary, commands = propose(folder)
    assert summary.startswith(GATE)
    assert len(summary) <= SUMMARY_CHARACTERS
    assert changed(folder).keys() == {"src/agent-loop.ts"}  # the earlier of two equals is the base
    text = changed(folder)["src/agent-loop.ts"]
    assert text.index("function hasSubmitted") < text.index("async function prepareToolCall(")
    assert text.index("!hasSubmitted(currentContext)") < text.index("const preparedToolCall")
    assert any(command.startswith("diff -r ") for command in commands)


DEFAULT_LOOP = (resources.files("wmo_episode") / "kit_python" / "loop.py").read_text("utf-8")
KIT_REQUEST = f"# Improve an agent's harness\n\n- `runtime.py`: the loop; without it:\n\n```python\n{DEFAULT_LOOP}```\n"


@pytest.mark.parametrize("own", [{}, {"runtime.py": f"# mine\n{DEFAULT_LOOP}"}])
def test_a_kit_python_harness_gets_its_reminder_in_runtime_py(workspace, own):
    reasons = {"c": "submitted"}
    seed = {"SYSTEM.md": SYSTEM, "config.toml": CONFIG, **own}
    folder = workspace((0.1, "", seed, reasons), (0.1, CHECK_ADVICE, {**seed, "SYSTEM.md": "other"}, reasons))
    write(folder, {"REQUEST.md": KIT_REQUEST})
    summary, _ = propose(folder)
    assert summary.startswith(KIT_GATE)
    assert changed(folder, seed).keys() == {"runtime.py"}
    text = changed(folder, seed)["runtime.py"]
    assert text.startswith("# mine" if own else '"""')
    assert text.index("CHECK_REMINDER = ") < text.index("def run(kit: Any)") < text.index("not reminded")
    compile(text, "runtime.py", "exec")


def test_a_runtime_py_of_another_shape_is_left_alone(workspace):
    seed = {"SYSTEM.md": SYSTEM, "runtime.py": "def run(kit):\n    return 'x'\n"}
    reasons = {"c": "submitted", "d": "max_turns"}
    folder = workspace((0.1, "", seed, reasons), (0.1, CHECK_ADVICE, seed, reasons))
    write(folder, {"REQUEST.md": KIT_REQUEST})
    assert propose(folder)[0].startswith(PLAN)
    assert changed(folder, seed).keys() == {"SYSTEM.md"}


@pytest.mark.parametrize("reason", ["output_truncated", "unparsed_tool_call"])
def test_cut_calls_get_a_larger_cap(workspace, reason):
    folder = workspace((0.1, "", SEED, {"a": reason}))
    assert propose(folder)[0].startswith(CAP)
    assert changed(folder) == {"config.toml": CONFIG.replace("4096", "8192")}


@pytest.mark.parametrize("config", ["[harness]\n", '[harness]\ntools = ["submit"]\n', None])
def test_the_cap_is_set_where_the_configuration_has_none(workspace, config):
    files = {"SYSTEM.md": SYSTEM, **({} if config is None else {"config.toml": config})}
    folder = workspace((0.1, "", files, {"a": "output_truncated"}))
    propose(folder)
    assert "\nmax_output_tokens = 8192\n" in (folder / "candidate/config.toml").read_text()


def test_used_up_turns_get_a_plan_first_and_then_brevity(workspace):
    folder = workspace((0.1, "", SEED, {"a": "max_turns"}))
    assert propose(folder)[0].startswith(PLAN)
    write(folder, {"candidate/SYSTEM.md": SYSTEM})
    manifest = json.loads((folder / "history/manifest.json").read_text())
    manifest["candidates"].append({"candidate_id": "candidate-0001", "slot": 1, "score": 0.0, "summary": PLAN})
    write(folder, {"history/manifest.json": json.dumps(manifest)})
    assert propose(folder)[0].startswith(BRIEF)
    assert "at most three commands" in changed(folder)["SYSTEM.md"]


@pytest.mark.parametrize(("task", "written"), [("git-history", True), ("digit-sums", False)])
def test_a_skill_about_git_needs_failures_that_speak_of_git(workspace, task, written):
    reasons = {task: "submitted"}
    past = [(0.1, summary, SEED, reasons) for summary in ("", CHECK_ADVICE, GATE)]
    folder = workspace(*past)
    summary, _ = propose(folder)
    assert summary.startswith(SKILL if written else "no change")
    assert changed(folder).keys() == ({"skills/git-history-surgery.md"} if written else set())


def test_the_skill_is_what_the_worker_needs(workspace):
    past = [(0.1, summary, SEED, {"git-history": "submitted"}) for summary in ("", CHECK_ADVICE, GATE)]
    folder = workspace(*past)
    propose(folder)
    skill = (folder / "candidate/skills/git-history-surgery.md").read_text()
    assert skill.startswith("---\nname: git-history-surgery\ndescription: ")
    recipe = next(recipe for recipe in bundled_recipes() if recipe.weakness == "skill")
    read = {"id": "c1", "function": {"name": "read_skill", "arguments": '{"name": "git-history-surgery"}'}}
    looks = [
        {"id": f"l{index}", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        for index, command in enumerate(recipe.look)
    ]
    index_line = next(line for line in skill.splitlines() if line.startswith("description: ")).partition(": ")[2]
    messages = [
        {"role": "system", "content": f"{SYSTEM}\n- git-history-surgery: {index_line}\n"},
        {"role": "user", "content": recipe.match},
        {"role": "assistant", "tool_calls": [read, *looks]},
        {"role": "tool", "tool_call_id": "c1", "content": skill},
        *({"role": "tool", "tool_call_id": look["id"], "content": ""} for look in looks),
    ]
    move = worker_move(read_conversation(messages), ("bash", "read_skill", "submit"), 4096, (recipe,))
    assert move.call.arguments == {"command": recipe.solve}


def test_read_only_evidence_can_be_built_upon(workspace):
    folder = workspace((0.1, "", SEED, FIRST), (0.4, TOOLS_RULE, {**SEED, "new.txt": "n"}, {"c": "submitted"}))
    for path in (folder / "history/candidate-0001/source").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert propose(folder)[0].startswith(CHECK_ADVICE)
    assert changed(folder).keys() == {"new.txt", "SYSTEM.md"}


def test_a_rejected_try_is_not_tried_again(workspace):
    folder = workspace((0.1, "", SEED, {"a": "no_tool_call", "b": "max_turns"}), (None, TOOLS_RULE, SEED, {}))
    assert propose(folder)[0].startswith(PLAN)


def test_an_edit_that_finds_no_place_leads_to_the_next_idea(workspace):
    other = {**SEED, "src/agent-loop.ts": "export const nothing = 1;\n"}
    reasons = {"a": "submitted", "b": "submitted", "c": "max_turns"}
    folder = workspace((0.1, "", other, reasons), (0.1, CHECK_ADVICE, other, reasons))
    assert propose(folder)[0].startswith(PLAN)
    assert changed(folder, other).keys() == {"SYSTEM.md"}


def test_an_edit_that_fails_leads_to_the_next_idea(workspace):
    folder = workspace((0.1, "", SEED, {"a": "no_tool_call", "b": "max_turns"}))
    assert propose(folder, break_first_edit=True)[0].startswith(PLAN)


@pytest.mark.parametrize("reasons", [{"a": ""}, {"a": "error"}, {"a": "budget", "b": "provider_error"}])
def test_without_a_failure_that_it_understands_nothing_is_changed(workspace, reasons):
    folder = workspace((0.5, "", SEED, reasons))
    assert propose(folder)[0].startswith("no change")
    assert changed(folder) == {}


def test_a_broken_history_is_said_to_be_so(tmp_path):
    assert propose(tmp_path)[0] == "no change: the history holds no scored candidate"


def test_without_the_setting_it_does_nothing():
    messages = [{"role": "user", "content": "Write a poem."}]
    assert next_move(read_conversation(messages), TOOLS).call is None
