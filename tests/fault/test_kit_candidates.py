"""kit-python candidates that misbehave: each gives the right stop reason, and no process of theirs remains."""

import contextlib
import json
import threading
from pathlib import Path

import pytest
from wmo_contracts.chat import ChatReply
from wmo_contracts.episode import Limits, Observation
from wmo_episode.kit_runtime import KitRuntime
from wmo_harness.source_tree import SourceTree
from wmo_harness.tool_policy import tool_specs
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox

MARKER = "sleep 86399.75"
SLEEP = json.dumps(["sh", "-c", f"trap '' TERM HUP; {MARKER} & wait"])


class Talks:
    """A model that says the same for ever."""

    def complete(self, _request):
        return ChatReply(content="hm", tool_calls=(), finish_reason="stop", model="scripted")


class Nothing:
    """An environment where nothing happens."""

    def execute(self, _action):
        return Observation(content="")

    def close(self):
        pass


@pytest.fixture
def play(tmp_path):
    """Give a function that plays an episode of `source` as runtime.py."""

    def run(source, mode="bwrap", timeout_s=60.0, environment=None):
        runtime = KitRuntime(
            Talks(),
            SourceTree.from_mapping({"SYSTEM.md": "You act.", "runtime.py": source}),
            tuple(tool_specs(["bash", "submit"])),
            "You act.",
            limits=Limits(timeout_s=timeout_s, max_model_calls=40),
            mode=mode,
            work=tmp_path,
        )
        return runtime.run("t", "Go.", environment or Nothing())

    yield run
    assert list(tmp_path.iterdir()) == []


def survivors():
    """Give the command lines on this machine that hold MARKER."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if MARKER in line]


def none_survives():
    """Say whether every marked process is gone within ten seconds."""
    for _ in range(200):
        if not survivors():
            return True
        threading.Event().wait(0.05)
    return False


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_a_loop_for_ever(play, mode):
    result = play("def run(kit):\n    while True:\n        pass\n", mode, timeout_s=0.2)
    assert (result.stop_reason, result.note) == ("error", "timed out after 1 s")


def test_a_loop_for_ever_that_refuses_every_signal_and_exception(play):
    source = (
        "import signal\n\ndef run(kit):\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True:\n"
        "        try:\n            kit.complete('', [('user', 'x')])\n        except BaseException:\n            pass\n"
    )
    result = play(source)
    assert (result.stop_reason, result.usage.calls) == ("budget", 40)
    assert "all 40 model calls" in result.note


def test_an_end_without_a_word(play):
    result = play("import os\n\ndef run(kit):\n    kit.execute('bash', {'command': 'ls'})\n    os._exit(0)\n")
    assert (result.stop_reason, result.turns) == ("max_turns", 2)
    assert result.note == "the agent's process ended without /done"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import os\n\ndef run(kit):\n    os.write(2, b'the end')\n    os._exit(4)\n", "the end"),
        ("import os\n\ndef run(kit):\n    os.kill(os.getpid(), 9)\n", "ended with status"),
        ("import no_such_module\n\ndef run(kit):\n    return 'x'\n", "No module named 'no_such_module'"),
        ("raise SystemExit(0)\n\ndef run(kit):\n    return 'x'\n", "SystemExit"),
        ("def run(kit):\n    return run(kit)\n", "RecursionError"),
        ("def run(kit):\n    raise ValueError('x' * 100_000 + ' the end')\n", "x the end"),
        ("def run(kit):\n    raise ValueError('half a character \\ud800')\n", "half a character"),
        ("def run(one, two):\n    return 'x'\n", "missing 1 required positional argument: 'two'"),
        ("run = 3\n\nif run is None:\n    def run(kit):\n        return 'x'\n", "not callable"),
    ],
)
def test_a_crash_is_told(play, source, says):
    result = play(source)
    assert result.stop_reason == "error"
    assert says in result.note
    assert len(result.note) <= 500
    assert json.loads(result.to_text())["steps"][-1]["action"]["content"] == "(kit runtime)"


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_a_flood_on_both_streams_blocks_nothing(play, mode):
    flood = "for stream in (sys.stdout, sys.stderr):\n        stream.write('x' * (8 << 20))"
    assert play(f"import sys\n\ndef run(kit):\n    {flood}\n    return 'x'\n", mode).stop_reason == "submitted"


def test_a_flood_of_calls_is_bounded(play):
    source = (
        "import threading, time\n\ndef run(kit):\n    def hammer():\n        while True:\n"
        "            kit.execute('fly', {})\n    for _ in range(16):\n"
        "        threading.Thread(target=hammer, daemon=True).start()\n    time.sleep(0.5)\n    return 'x'\n"
    )
    result = play(source)
    assert result.stop_reason == "submitted"
    assert len(result.steps) <= 1000


@pytest.mark.parametrize(
    ("mode", "end"),
    [("bwrap", "return 'x'"), ("none", "return 'x'"), ("bwrap", "raise ValueError"), ("bwrap", "while True: pass")],
)
def test_children_do_not_outlive_the_episode(play, mode, end):
    source = f"import subprocess\n\ndef run(kit):\n    subprocess.Popen({SLEEP})\n    {end}\n"
    play(source, mode, timeout_s=1.0 if "while" in end else 60.0)
    assert none_survives()


def test_a_child_of_its_own_session_does_not_outlive_the_box(play):
    source = (
        f"import subprocess\n\ndef run(kit):\n    subprocess.Popen({SLEEP}, start_new_session=True)\n    return 'x'\n"
    )
    assert play(source).stop_reason == "submitted"
    assert none_survives()


def test_the_agents_process_and_its_tools_are_in_different_boxes(play, tmp_path):
    """What run(kit) writes in its own box is not where its tools act."""
    workspace = tmp_path.with_name(f"{tmp_path.name}-app")
    workspace.mkdir()
    source = (
        "def run(kit):\n    open('/tmp/x', 'w').close()\n"
        "    return kit.execute('bash', {'command': 'ls /tmp; pwd'}).content\n"
    )
    with Sandbox(workspace, limits=SandboxLimits()) as sandbox:
        assert play(source, environment=sandbox).answer == "/app\n"
