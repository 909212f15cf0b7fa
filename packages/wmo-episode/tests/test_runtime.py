"""Whole episodes: real node, real pi."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from wmo_contracts.episode import Action, Observation
from wmo_episode.runtime import EpisodeCancelled
from wmo_kit.errors import Missing
from wmo_models.provider import ProviderError


def commands(environment):
    return [action.arguments["command"] for action in environment.actions]


def user_texts(provider):
    """What the last request's user messages say, after the instruction."""
    texts = []
    for message in provider.requests[-1].messages:
        if message["role"] == "user":
            content = message["content"]
            texts.append(content if isinstance(content, str) else content[0]["text"])
    return texts[1:]


def test_pi_works_and_submits(make_runtime, environment, scripted, says, call):
    provider = scripted(
        says(call("bash", 0, command="ls"), call("bash", 1, command="pwd"), text="looking"),
        says(call("submit", 2, answer="42")),
    )
    result = make_runtime(provider, temperature=0.2, max_output_tokens=77).run("a-task", "Count the rows.", environment)
    assert (result.stop_reason, result.answer, result.turns, result.note) == ("submitted", "42", 2, "")
    assert commands(environment) == ["ls", "pwd"]
    assert result.task_id == "a-task"
    assert [step.action.name for step in result.steps] == ["bash", "bash"]
    assert result.usage.calls == 2
    assert result.timings.keys() == {"materialise", "start", "load", "turns", "stop", "total", "model", "tools"}
    assert not environment.closed
    first, second = provider.requests
    assert (first.temperature, first.max_tokens) == (0.2, 77)
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert first.messages[0]["content"] == "You act."
    assert {tool["function"]["name"] for tool in first.tools} == {"bash", "read_file", "write_file", "submit"}
    assert [message["role"] for message in second.messages[2:]] == ["assistant", "tool", "tool"]
    assert "ran ls" in json.dumps(second.messages[3])


def test_two_runs_differ_in_timings_only(make_runtime, environment, scripted, says, call):
    def once():
        script = scripted(says(call("bash", command="ls")), says(text="hm"), says(call("bash", command="pwd")))
        result = make_runtime(script, max_turns=5).run("t", "Go.", environment)
        return result.model_copy(update={"timings": {}}).to_text(), [request.messages for request in script.requests]

    assert once() == once()


def test_silence_is_nudged_three_times(make_runtime, environment, scripted, says):
    provider = scripted(says(text="I think it is done."))
    result = make_runtime(provider).run("t", "Go.", environment)
    assert result.stop_reason == "no_tool_call"
    assert len(provider.requests) == 4
    assert len(user_texts(provider)) == 3
    assert result.steps[-1].action == Action(kind="message", content="(pi runtime)")
    assert result.steps[-1].observation.is_error


def test_a_tool_call_starts_the_count_of_nudges_anew(make_runtime, environment, scripted, says, call):
    hm, ls = says(text="hm"), says(call("bash", command="ls"))
    provider = scripted(hm, hm, ls, hm, hm, ls, says(call("submit", answer="x")))
    assert make_runtime(provider).run("t", "Go.", environment).stop_reason == "submitted"
    assert len(user_texts(provider)) == 4


def test_a_call_cut_at_the_limit_is_never_executed(make_runtime, environment, scripted, says, call):
    cut = says(call("bash", command="rm -rf build")).model_copy(update={"finish_reason": "length"})
    provider = scripted(cut, says(call("submit", answer="x")))
    assert make_runtime(provider).run("t", "Go.", environment).stop_reason == "submitted"
    assert environment.actions == []
    assert "cut off at the output limit of 4096 tokens" in user_texts(provider)[0]
    result = make_runtime(scripted(cut)).run("t", "Go.", environment)
    assert result.stop_reason == "unparsed_tool_call"
    assert "max_output_tokens 4096" in result.note


def test_text_cut_at_the_limit(make_runtime, environment, scripted, says):
    result = make_runtime(scripted(says(text="so", finish="length"))).run("t", "Go.", environment)
    assert result.stop_reason == "output_truncated"


def test_turns_are_capped(make_runtime, environment, scripted, says, call):
    provider = scripted(says(call("bash", command="ls")))
    result = make_runtime(provider, max_turns=3).run("t", "Go.", environment)
    assert (result.stop_reason, len(provider.requests)) == ("max_turns", 3)
    assert commands(environment) == ["ls"] * 3


def test_submitting_beside_other_calls_ends_the_episode_in_order(make_runtime, environment, scripted, says, call):
    calls = call("bash", 0, command="a"), call("submit", 1, answer="x"), call("bash", 2, command="b")
    provider = scripted(says(*calls))
    result = make_runtime(provider).run("t", "Go.", environment)
    assert (result.stop_reason, result.answer) == ("submitted", "x")
    assert commands(environment) == ["a"]
    assert len(provider.requests) == 1


def test_a_provider_error_ends_it_without_a_nudge(make_runtime, environment, scripted, says, call):
    down = ProviderError("endpoint down", transient=True)
    provider = scripted(says(call("bash", command="ls")), down)
    result = make_runtime(provider).run("t", "Go.", environment)
    assert (result.stop_reason, result.note) == ("provider_error", "endpoint down")
    assert len(provider.requests) == 2


def test_the_agents_own_error_is_named(make_runtime, environment, scripted, says):
    result = make_runtime(scripted(says(text="", finish="content_filter"))).run("t", "Go.", environment)
    assert result.stop_reason == "error"
    assert "content_filter" in result.note


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_node_gets_an_allow_list_of_variables(make_runtime, environment, scripted, monkeypatch, mode):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    script = "console.error(Object.keys(process.env).sort().join(' ')); process.exit(3)"
    runtime = make_runtime(scripted(), mode=mode)
    result = runtime.run("t", "Go.", environment, command=["node", "-e", script])
    allowed = {"HOME", "LANG", "PATH", "PI_SHIM_TOKEN", "PI_SHIM_URL", "TZ", "NODE_NO_WARNINGS"}
    boxed = {"NODE_COMPILE_CACHE", "NODE_COMPILE_CACHE_PORTABLE", "SHELL", "USER", "PWD"} if mode == "bwrap" else set()
    assert set(result.note.split()) == allowed | boxed


def test_without_a_box_it_works_the_same(make_runtime, environment, scripted, says, call):
    provider = scripted(says(call("bash", command="ls")), says(call("submit", answer="x")))
    assert make_runtime(provider, mode="none").run("t", "Go.", environment).stop_reason == "submitted"


def test_the_box_shows_neither_homes_nor_the_project(make_runtime, environment, scripted):
    places = json.dumps(["/home", "/root", "/srv", str(Path(__file__).parents[3])])
    script = f"console.error({places}.filter(require('fs').existsSync)); process.exit(1)"
    result = make_runtime(scripted()).run("t", "Go.", environment, command=["node", "-e", script])
    assert result.note == "[]"


def test_nothing_in_the_runners_folder_can_be_written(make_runtime, environment, scripted):
    places = "entry.ts harness/x node_modules/x compile-cache/x"
    script = f"for place in {places}; do echo x > $place && echo wrote $place >&2; done; exit 1"
    result = make_runtime(scripted()).run("t", "Go.", environment, command=["sh", "-c", script])
    assert "wrote" not in result.note
    assert result.note.count("ead-only") == 4


def test_a_command_that_is_not_there(make_runtime, environment, scripted):
    for mode in ("bwrap", "none"):
        with pytest.raises(Missing, match="cannot start 'no-such-command'"):
            make_runtime(scripted(), mode=mode).run("t", "Go.", environment, command=["no-such-command"])


def test_a_folder_that_cannot_be_made_starts_nothing(make_runtime, environment, scripted, tmp_path):
    runtime = make_runtime(scripted())
    object.__setattr__(runtime, "work", tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        runtime.run("t", "Go.", environment)
    assert environment.actions == []


def test_a_broken_environment_is_raised_not_scored(make_runtime, environment, scripted, says, call):
    def execute(_action):
        raise Missing("no sandbox")

    environment.execute = execute
    with pytest.raises(Missing, match="no sandbox"):
        make_runtime(scripted(says(call("bash", command="ls")))).run("t", "Go.", environment)


def test_cancelling_ends_running_episodes_at_once(make_runtime, environment, scripted):
    cancel, asked = threading.Event(), threading.Event()

    class Silent:
        def complete(self, _request):
            asked.set()
            cancel.wait(60)
            raise ProviderError("cancelled", transient=True)

    runtime = make_runtime(Silent())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(runtime.run, "t", "Go.", environment, cancel=cancel)
        assert asked.wait(30)
        cancel.set()
        with pytest.raises(EpisodeCancelled):
            running.result(30)


def test_many_episodes_in_threads_of_one_process(make_runtime, scripted, says, call):
    def play(number):
        provider = scripted(says(call("bash", command=f"echo {number}")), says(call("submit", answer=str(number))))
        environment = Recorder()
        result = make_runtime(provider).run(f"t-{number}", "Go.", environment)
        return result.task_id, result.stop_reason, result.answer, environment.seen

    class Recorder:
        def __init__(self):
            self.seen = []

        def execute(self, action):
            self.seen.append(action.arguments["command"])
            return Observation(content="ok")

        def close(self):
            pass

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(play, range(6)))
    assert found == [(f"t-{n}", "submitted", str(n), [f"echo {n}"]) for n in range(6)]


def test_a_box_that_cannot_be_made_is_no_result(make_runtime, scripted, environment, tmp_path):
    """Else a machine without boxes, or without its vendored libraries, would score every harness 0."""
    runtime = replace(make_runtime(scripted()), runtime=tmp_path / "gone")
    with pytest.raises(Missing, match=r"bubblewrap said .*gone/node_modules"):
        runtime.run("t", "Go.", environment)


def test_relative_folders_work(make_runtime, scripted, says, call, environment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runtime = replace(make_runtime(scripted(says(call("submit", answer="x")))), work=Path())
    assert runtime.run("t", "Go.", environment).stop_reason == "submitted"
