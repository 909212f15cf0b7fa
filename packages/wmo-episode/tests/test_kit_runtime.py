"""Whole episodes of kit-python harnesses: real Python in real boxes, a real shim."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from wmo_contracts.chat import ChatReply
from wmo_contracts.episode import Action, Limits, Skill
from wmo_episode.kit_runtime import KitRuntime
from wmo_episode.runtime import EpisodeCancelled
from wmo_harness.source_tree import SourceTree
from wmo_harness.tool_policy import tool_specs
from wmo_models.provider import Provider, ProviderError


def written(tool: str, **arguments: str) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


def text(content: str | None, finish: str = "stop") -> ChatReply:
    return ChatReply(content=content, tool_calls=(), finish_reason=finish, model="scripted")


LS, SUBMIT = text(f"Looking.\n{written('bash', command='ls')}"), text(written("submit", answer="42"))
HM = text("I think it is done.")


@pytest.fixture
def make_kit(tmp_path: Path) -> Iterator[Callable[..., KitRuntime]]:
    """Gives a maker of runtimes; `files` are added to SYSTEM.md. At the end, no runner folder may be left."""

    def make(provider: Provider, files: Mapping[str, str] | str = "", mode: str = "bwrap", **limits: float):
        if isinstance(files, str):
            files = {"runtime.py": files} if files else {}
        return KitRuntime(
            provider,
            SourceTree.from_mapping({"SYSTEM.md": "You act.\n", **files}),
            tuple(tool_specs(["bash", "read_file", "write_file", "submit", "read_skill"])),
            "You act.\n",
            skills=(Skill(name="count-rows", description="counting", content="wc -l"),),
            limits=Limits(**{"max_model_calls": 40, **limits}),
            mode=mode,
            work=tmp_path,
        )

    yield make
    assert list(tmp_path.iterdir()) == []


def last_message(provider) -> str:
    return provider.requests[-1].messages[-1]["content"]


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_the_default_loop_works_and_submits(make_kit, environment, scripted, mode):
    provider = scripted(LS, SUBMIT)
    runtime = make_kit(provider, mode=mode, temperature=0.2, max_output_tokens=77)
    result = runtime.run("a-task", "Count the rows.", environment)
    assert (result.stop_reason, result.answer, result.note, result.task_id) == ("submitted", "42", "", "a-task")
    assert [step.action for step in result.steps] == [Action(kind="tool", name="bash", arguments={"command": "ls"})]
    assert result.timings.keys() == {"materialise", "start", "load", "turns", "stop", "total", "model", "tools"}
    first, second = provider.requests
    assert (first.temperature, first.max_tokens, first.tools) == (0.2, 77, ())
    system, user = first.messages
    assert system["content"].startswith("You act.\n\nTo use a tool")
    assert "- bash(command): " in system["content"]
    assert user == {"role": "user", "content": "Count the rows."}
    assert second.messages[2:] == (
        {"role": "assistant", "content": LS.content},
        {"role": "user", "content": "Result of bash:\nran ls"},
    )


def test_two_runs_differ_in_timings_only(make_kit, environment, scripted):
    source = "def run(kit):\n    return kit.complete('', [('user', ' '.join({'a', 'b', 'c', 'd', 'e'}))])\n"

    def once():
        script = scripted(SUBMIT)
        result = make_kit(script, source).run("t", "Go.", environment)
        return result.model_copy(update={"timings": {}}).to_text(), [request.messages for request in script.requests]

    assert once() == once()


@pytest.mark.parametrize(
    ("reply", "reason", "nudge"),
    [
        (HM, "no_tool_call", "Your last message had no tool call. Continue with"),
        (text('{"tool": "bash"}'), "unparsed_tool_call", "must have the keys"),
        (text(LS.content, "length"), "unparsed_tool_call", "cut off at the output limit of 4096 tokens"),
        (text("so", "length"), "output_truncated", "Write less"),
        (text(None), "no_tool_call", "no tool call"),
    ],
)
def test_a_reply_without_a_call_is_nudged_three_times(make_kit, environment, scripted, reply, reason, nudge):
    provider = scripted(reply)
    result = make_kit(provider).run("t", "Go.", environment)
    assert (result.stop_reason, len(provider.requests)) == (reason, 4)
    assert nudge in last_message(provider)
    assert result.steps[-1].action == Action(kind="message", content="(kit runtime)")
    assert environment.actions == []


def test_a_call_starts_the_count_of_nudges_anew_and_turns_are_capped(make_kit, environment, scripted):
    provider = scripted(HM, HM, LS, HM, HM, LS, SUBMIT)
    assert make_kit(provider).run("t", "Go.", environment).stop_reason == "submitted"
    provider = scripted(LS)
    result = make_kit(provider, max_turns=3).run("t", "Go.", environment)
    assert (result.stop_reason, len(provider.requests), result.turns) == ("max_turns", 3, 4)


def test_wrong_calls_come_back_as_errors(make_kit, environment, scripted):
    provider = scripted(text(written("fly", to="x")), text(written("submit", result="x")), SUBMIT)
    assert make_kit(provider).run("t", "Go.", environment).stop_reason == "submitted"
    assert "Error from fly:\nunknown tool 'fly'" in provider.requests[1].messages[-1]["content"]
    assert last_message(provider) == "Error from submit:\nargument 'answer' must be a string"


RETURNS = {
    "return kit.complete(kit.system_prompt, [('user', kit.instruction)])": ("submitted", "hello", ""),
    "kit.submit('early')\n    return 'late'": ("submitted", "early", ""),
    "kit.execute('submit', {'answer': 'x'})": ("submitted", "x", ""),
    "kit.stop('no_tool_call', 'I gave up')": ("no_tool_call", "", "I gave up"),
    "kit.stop('tired', '')": ("unknown_done_reason", "", "unknown reason 'tired'"),
    "pass": ("no_action", "", "returned no answer"),
    "return 3": ("error", "", "it returned int"),
    "raise RuntimeError('it broke')": ("error", "", "RuntimeError: it broke"),
    "raise SystemExit(0)": ("error", "", "SystemExit: 0"),
    "kit.complete('', [('robot', 'x')])": ("error", "", "ValueError: a message is a role"),
    "kit.complete('', [])": ("error", "", "'messages' must not be empty"),
    "kit.read_skill('swim')": ("error", "", "unknown skill 'swim'"),
    "return kit.read_skill('count-rows')": ("submitted", "wc -l", ""),
    "return kit.skills_index": ("submitted", "- count-rows: counting", ""),
    "return kit.execute('bash', {'command': 'ls'}).content": ("submitted", "ran ls", ""),
    "return str(kit.execute('bash', {'command': 3}).is_error)": ("submitted", "True", ""),
    "return f'{kit.max_turns} {kit.max_output_tokens}'": ("submitted", "20 4096", ""),
}


@pytest.mark.parametrize("body", RETURNS)
def test_what_run_does_is_what_comes_of_it(make_kit, environment, scripted, body):
    result = make_kit(scripted(text("hello")), f"def run(kit):\n    {body}\n").run("t", "Go.", environment)
    reason, answer, note = RETURNS[body]
    assert (result.stop_reason, result.answer) == (reason, answer)
    assert note in result.note


def test_a_coroutine_and_other_files_of_the_tree(make_kit, environment, scripted):
    files = {
        "runtime.py": "import lib\nfrom tools import parse\n\nasync def run(kit):\n    return lib.X + parse.Y\n",
        "lib.py": "X = 'x'\n",
        "tools/parse.py": "Y = 'y'\n",
        "json.py": "raise SystemExit('shadowed')\n",
        "kit-python/kit.py": "raise SystemExit('shadowed')\n",
    }
    result = make_kit(scripted(), files).run("t", "Go.", environment)
    assert (result.stop_reason, result.answer) == ("submitted", "xy")


def test_one_model_call_too_many_is_the_budget_whatever_run_makes_of_it(make_kit, environment, scripted):
    source = (
        "def run(kit):\n    while True:\n        try:\n            kit.complete('', [('user', 'x')])\n"
        "        except BaseException:\n            return 'done'\n"
    )
    provider = scripted(HM)
    result = make_kit(provider, source, max_model_calls=5).run("t", "Go.", environment)
    assert (result.stop_reason, result.answer, len(provider.requests)) == ("budget", "", 5)
    assert result.note == "the agent used all 5 model calls and asked for one more"


def test_one_action_too_many_is_the_budget_with_the_steps_kept(make_kit, environment, scripted):
    source = "def run(kit):\n    while True:\n        kit.execute('bash', {'command': 'ls'})\n"
    result = make_kit(scripted(), source, max_env_actions=3).run("t", "Go.", environment)
    assert (result.stop_reason, len(environment.actions)) == ("budget", 3)
    assert "all 3 environment actions" in result.note
    assert [step.action.kind for step in result.steps] == ["tool"] * 4 + ["message"]


def test_an_exception_keeps_the_steps(make_kit, environment, scripted):
    source = "def run(kit):\n    kit.execute('bash', {'command': 'ls'})\n    return [][0]\n"
    result = make_kit(scripted(), source).run("t", "Go.", environment)
    assert (result.stop_reason, result.turns) == ("error", 2)
    assert result.note.endswith("IndexError: list index out of range")
    assert 'File "/run/wmo/harness/runtime.py", line 3, in run' in result.note


@pytest.mark.parametrize("fault", ["transient", "request"])
def test_a_provider_error_ends_it(make_kit, environment, scripted, fault):
    source = (
        "def run(kit):\n    try:\n        kit.complete('', [('user', 'x')])\n"
        "    except BaseException:\n        return 'y'\n"
    )
    for files in ("", source):
        provider = scripted(
            ProviderError("endpoint down", transient=fault == "transient", by_request=fault == "request")
        )
        result = make_kit(provider, files).run("t", "Go.", environment)
        assert (result.stop_reason, result.note, result.model_fault) == ("provider_error", "endpoint down", fault)


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_python_gets_an_allow_list_of_variables(make_kit, environment, scripted, monkeypatch, mode):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    source = "import os\n\ndef run(kit):\n    return ' '.join(sorted(os.environ))\n"
    result = make_kit(scripted(), source, mode=mode).run("t", "Go.", environment)
    allowed = {
        "HOME",
        "LANG",
        "PATH",
        "PI_SHIM_TOKEN",
        "PI_SHIM_URL",
        "TZ",
        "PYTHONHASHSEED",
        "PYTHONDONTWRITEBYTECODE",
    }
    assert set(result.answer.split()) == allowed | ({"SHELL", "USER", "PWD"} if mode == "bwrap" else set())


def test_the_box_shows_only_the_standard_library_and_no_file_of_the_host(make_kit, environment, scripted):
    places = ["/home", "/root", "/srv", "/etc/shadow", str(Path(__file__).parents[3])]
    source = (
        "import os, sys, importlib.util\n\ndef run(kit):\n"
        f"    seen = [place for place in {places} if os.path.exists(place)]\n"
        "    held = [place for place in ('harness/x', 'kit_python/x', '/x') if not refused(place)]\n"
        "    return f'{os.getuid()} {seen} {held} {importlib.util.find_spec(\"pydantic\")}'\n\n"
        "def refused(place):\n    try:\n        open(place, 'w')\n    except OSError:\n        return True\n"
    )
    assert make_kit(scripted(), source).run("t", "Go.", environment).answer == "1000 [] [] None"


def test_cancelling_ends_it_at_once(make_kit, environment, scripted):
    cancel, asked = threading.Event(), threading.Event()

    class Silent:
        def complete(self, _request):
            asked.set()
            cancel.wait(60)
            raise ProviderError("cancelled", transient=True)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(make_kit(Silent()).run, "t", "Go.", environment, cancel=cancel)
        assert asked.wait(30)
        cancel.set()
        with pytest.raises(EpisodeCancelled):
            running.result(30)
