"""Candidates that misbehave: each gives the right stop reason, and no process of theirs remains."""

import json
import threading
from pathlib import Path

import pytest
from wmo_contracts.chat import ChatReply, ToolCall
from wmo_contracts.episode import Limits, Observation
from wmo_episode.runtime import PiRuntime
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.tool_policy import tool_specs

INDEX = "src/index.ts"
MARKER = "sleep 86399.5"


class Submits:
    """A model that submits at once."""

    def complete(self, _request):
        call = ToolCall(id="c", name="submit", arguments=json.dumps({"answer": "x"}))
        return ChatReply(content=None, tool_calls=(call,), finish_reason="tool_calls", model="scripted")


class Nothing:
    """An environment where nothing happens."""

    def execute(self, _action):
        return Observation(content="")

    def close(self):
        pass


@pytest.fixture(scope="module")
def vendor():
    return find_vendor_dir(None, Path(__file__))


@pytest.fixture
def play(vendor, tmp_path):
    def run(edits, mode="bwrap", timeout_s=60.0):
        """Play an episode of pi with `edits` over its files."""
        runtime = PiRuntime(
            Submits(),
            files=SourceTree.from_mapping(seed_tree(vendor).as_mapping() | edits),
            tools=tuple(tool_specs(["bash", "submit"])),
            system="You act.",
            runtime=vendor / "runtime",
            limits=Limits(timeout_s=timeout_s),
            mode=mode,
            work=tmp_path,
        )
        return runtime.run("t", "Go.", Nothing())

    yield run
    assert list(tmp_path.iterdir()) == []


def survivors(marker=MARKER):
    """Give the command lines on this machine that hold `marker`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found


def none_survives():
    """Say whether every marked process is gone within ten seconds."""
    for _ in range(200):
        if not survivors():
            return True
        threading.Event().wait(0.05)
    return False


def before_pi(vendor, code):
    """Give the edit that runs `code` before pi's own index."""
    return {INDEX: code + "\n" + seed_tree(vendor).as_mapping()[INDEX]}


def spawning(command, **options):
    """Give code that starts `sh -c command`."""
    arguments = ", ".join(json.dumps(value) for value in ("sh", ["-c", command], options))
    return f'import {{ spawn }} from "node:child_process"; spawn({arguments}).unref();'


def test_a_file_named_as_ours_shadows_nothing(play):
    evil = 'console.error("shadowed"); process.exit(9);'
    result = play({"entry.ts": evil, "termination.ts": evil, "src/entry.ts": evil})
    assert (result.stop_reason, result.answer) == ("submitted", "x")


def test_typescript_that_does_not_parse(play, vendor):
    result = play(before_pi(vendor, "const = ;"))
    assert result.stop_reason == "error"
    assert "SyntaxError" in result.note
    assert "src/index.ts:1" in result.note
    assert result.steps[-1].action.content == "(pi runtime)"


@pytest.mark.parametrize("target", ["./nowhere.ts", "no-such-package", "../../../../etc/passwd.ts"])
def test_an_import_that_resolves_nowhere(play, vendor, target):
    result = play(before_pi(vendor, f'import "{target}";'))
    assert result.stop_reason == "error"
    assert "ERR_MODULE_NOT_FOUND" in result.note


def test_an_index_that_is_not_there(play, vendor):
    result = play({INDEX: "export {};"})
    assert result.stop_reason == "error"
    assert "Agent" in result.note


def test_a_loop_for_ever(play, vendor):
    result = play(before_pi(vendor, "for (;;) {}"), timeout_s=0.2)
    assert (result.stop_reason, result.note) == ("error", "timed out after 1 s")


def test_an_end_without_done(play, vendor):
    result = play(before_pi(vendor, "process.exit(0);"))
    assert result.stop_reason == "max_turns"
    assert result.turns == 1


def test_a_crash_is_told_by_the_end_of_stderr(play, vendor):
    result = play(before_pi(vendor, 'console.error("x".repeat(5000)); console.error("the end"); process.exit(4);'))
    assert result.stop_reason == "error"
    assert len(result.note) == 500
    assert result.note.endswith("the end")


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_a_mebibyte_on_both_streams_blocks_nothing(play, vendor, mode):
    noise = 'const mib = "x".repeat(1 << 20); process.stdout.write(mib); process.stderr.write(mib);'
    assert play(before_pi(vendor, noise), mode).stop_reason == "submitted"


@pytest.mark.parametrize(
    ("command", "stdio"),
    [
        (f"trap '' TERM; {MARKER} & wait", "ignore"),
        (f"trap '' TERM HUP; setsid sh -c \"trap '' TERM HUP; {MARKER}\" & wait", "inherit"),
    ],
)
def test_a_child_that_ignores_term_does_not_outlive_the_episode(play, vendor, command, stdio):
    pause = "await new Promise((go) => setTimeout(go, 200));"
    edit = before_pi(vendor, spawning(command, stdio=stdio, detached=True) + pause)
    assert play(edit).stop_reason == "submitted"
    assert none_survives()


def test_a_child_that_ignores_term_does_not_outlive_a_timeout(play, vendor):
    edit = before_pi(vendor, spawning(f"trap '' TERM; {MARKER} & wait", stdio="inherit") + "for (;;) {}")
    assert play(edit, timeout_s=1.0).stop_reason == "error"
    assert none_survives()


def test_without_a_box_the_process_group_is_ended(play, vendor):
    edit = before_pi(vendor, spawning(f"trap '' TERM; {MARKER} & wait", stdio="inherit"))
    assert play(edit, "none").stop_reason == "submitted"
    assert none_survives()


def test_a_node_that_ignores_term_is_killed(play, vendor):
    deaf = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); await new Promise(() => {});'
    assert play(before_pi(vendor, deaf), "none", timeout_s=1.0).note == "timed out after 1 s"


def test_a_loop_that_refuses_the_first_submit(play, vendor):
    """A candidate's edit of pi's own loop takes effect: it asks for a check before it lets a submit through."""
    path = "src/agent-loop.ts"
    anchor = "\ttry {\n\t\tconst preparedToolCall = prepareToolCallArguments(tool, toolCall);"
    source = seed_tree(vendor).as_mapping()[path]
    assert source.count(anchor) == 1
    refusal = 'return { kind: "immediate", result: createErrorToolResult("check your work first"), isError: true };'
    checked = f'\tif (toolCall.name === "submit" && !submitRefused) {{ submitRefused = true; {refusal} }}\n{anchor}'
    result = play({path: source.replace(anchor, checked) + "\nlet submitRefused = false;\n"})
    assert (result.stop_reason, result.usage.calls) == ("submitted", 2)
