"""Endpoints that misbehave, through whole episodes: real HTTP, the real client, the real shim, real pi in real node."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faulty_endpoint import bash, endpoint, nobody, reply, submit, tool_call
from wmo_contracts.chat import ChatReply
from wmo_contracts.episode import Limits, Observation
from wmo_episode.runtime import PiRuntime
from wmo_harness.documents import to_document
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.tool_policy import tool_specs
from wmo_kit.config import Endpoint
from wmo_models.client import OpenAIClient, RetryPolicy
from wmo_models.failover import PROBE_WITHIN_S, Waterfall
from wmo_models.provider import ProviderError
from wmo_models.trouble import Trouble, teller

BIN = Path(sys.executable).parent
TASKS = Path(__file__).parents[2] / "tools/wmo-score/tests/tasks"
QUICK = RetryPolicy(attempts=3, connect_s=5, total_s=10, wait_first_s=0.001, wait_cap_s=0.01)
LONG = "x" * 100_000
GO_ON = "Your last message had no tool call."
NOT_JSON = "The arguments of your last tool call were not a JSON object, so nothing was executed."
CUT = "Your last tool call was cut off at the output limit of 4096 tokens and was not executed."


SHELL_AGENT = """
ask() {
    exec 3<>/dev/tcp/127.0.0.1/${PI_SHIM_URL##*:}
    printf 'POST %s HTTP/1.1\\r\\nAuthorization: Bearer %s\\r\\nContent-Length: %s\\r\\n\\r\\n%s' \\
        "$1" "$PI_SHIM_TOKEN" "${#2}" "$2" >&3
    cat <&3
}
ask /v1/chat/completions '{"messages": [{"role": "user", "content": "x"}]}'
ask /done '{"answer": "x", "reason": "submit"}'
"""
"""Asks once and submits. It is there at once, where node takes its time on a busy machine."""


class Recorder:
    """An environment that keeps the commands it was given."""

    def __init__(self):
        self.commands = []

    def execute(self, action):
        self.commands.append(action.arguments["command"])
        return Observation(content="ok")

    def close(self):
        pass


@pytest.fixture(scope="module")
def vendor():
    return find_vendor_dir(None, Path(__file__))


@pytest.fixture
def play(vendor, tmp_path):
    """Give a function that plays an episode of pi against a provider; gives the result and the commands that ran."""

    def run(provider, command=None, **options):
        runtime = PiRuntime(
            provider,
            files=seed_tree(vendor),
            tools=tuple(tool_specs(["bash", "submit"])),
            system="You act.",
            runtime=vendor / "runtime",
            work=tmp_path,
            **options,
        )
        environment = Recorder()
        return runtime.run("t", "Go.", environment, command=command), environment.commands

    return run


@pytest.fixture
def against(play):
    """Give a function that plays an episode of pi against an endpoint with these plans."""

    def run(*plans):
        with endpoint(*plans) as server:
            client = OpenAIClient(Endpoint(base_url=server.url, model="m", timeout_s=1), "", QUICK)
            provider = Waterfall([client], QUICK)
            result, commands = play(provider)
            provider.close()
        return result, commands, server.requests

    return run


def last_words(request: dict) -> str:
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def test_what_can_be_mended_is_and_no_broken_call_is_ever_executed(against):
    def broken(arguments, **more):
        return reply(None, tool_call("bash", arguments), **more)

    good = tool_call("bash", json.dumps({"command": "good beside bad"}))
    no_usage = bash("without usage")
    del no_usage["usage"]
    turns = [
        ((429, {"Retry-After": "0"}, {"error": {"message": "slow down"}}), None),
        ((500, {}, b"oops"), None),
        (broken({"command": "as an object"}), "ok"),
        ("half", None),
        (broken(json.dumps({"command": "as text"})), "ok"),
        (broken('{"command": "rm -rf /'), NOT_JSON),
        (broken(json.dumps({"command": "rm -rf build"}), finish="length"), CUT),
        (broken('{"command": "rm -rf bu', finish="max_tokens"), CUT),
        (bash("between, so that nudges start anew"), "ok"),
        (reply(None, good, tool_call("bash", "{", 1)), NOT_JSON),
        (reply(None, {"id": "x", "function": {"name": None, "arguments": "{}"}}), NOT_JSON),
        (broken(None), NOT_JSON),
        (broken(json.dumps({"command": "without a finish_reason"}), finish=None), "ok"),
        (reply(None), GO_ON),
        (reply(None, reasoning_content="I could run ls."), GO_ON),
        ("split", GO_ON),
        (no_usage, "ok"),
        (bash(LONG), "ok"),
        (bash("\ud83d half a character"), "ok"),
        (submit("42"), None),
    ]  # fmt: skip
    result, commands, requests = against(*(plan for plan, _ in turns))
    assert (result.stop_reason, result.answer, result.model_fault) == ("submitted", "42", None)
    assert commands == [
        "as an object",
        "as text",
        "between, so that nudges start anew",
        "without a finish_reason",
        "without usage",
        LONG,
        "\ufffd half a character",
    ]
    assert len(requests) == len(turns)
    for number, (_, following) in enumerate(turns[:-1]):
        if following is not None:
            assert last_words(requests[number + 1]).startswith(following), number
    said = [message for message in requests[-1]["messages"] if message["role"] == "assistant"]
    assert any(message["content"] == "héllo ✓ 🎉" for message in said)
    assert all(message.get("content") or message.get("tool_calls") for message in said)  # servers refuse empty ones
    assert (result.usage.calls, result.usage.prompt_tokens) == (17, 160)


@pytest.mark.parametrize(
    ("arguments", "finish", "reason", "note"),
    [
        ('{"command": ', "tool_calls", "unparsed_tool_call", "the arguments of a tool call were not a JSON object"),
        ('{"command": "ls"}', "length", "unparsed_tool_call", "a tool call was cut off at the output limit"),
    ],
)
def test_a_model_that_only_makes_broken_calls_is_nudged_three_times(against, arguments, finish, reason, note):
    result, commands, requests = against(reply(None, tool_call("bash", arguments), finish=finish))
    assert (result.stop_reason, commands, len(requests)) == (reason, [], 4)
    assert result.note.startswith(note)


FULL = {"error": {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"}}
ENDS = {
    "500 for ever": ((500, {}, b"oops"), "transient", 5, "the endpoint answered 500: oops"),
    "hang": ("hang", "transient", 3, "no answer within "),
    "drip": ("drip", "transient", 3, "the answer was not complete within "),
    "closed in the middle": ("half", "transient", 3, "the answer broke off"),
    "an error object": ({"error": {"message": "no credit"}}, "endpoint", 1, "answered with an error: no credit"),
    "HTML": ((200, {}, b"<html>hello</html>"), "endpoint", 1, "it is no JSON object; it starts: <html>"),
    "no choices": ({"id": "x"}, "endpoint", 1, "'choices' is missing or empty"),
    "wrong model": ((404, {}, {"error": {"message": "no model 'm'"}}), "endpoint", 1, "answered 404: no model 'm'"),
    "full": ((400, {}, FULL), "request", 1, "the context is full, the endpoint answered 400: This model's maximum"),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_cannot_be_mended_ends_the_episode_with_its_class_and_one_line(against, name):
    plan, fault, tries, words = ENDS[name]
    result, commands, requests = against(bash("ls"), plan)
    assert (result.stop_reason, result.model_fault) == ("provider_error", fault)
    assert (commands, len(requests)) == (["ls"], 1 + tries)
    assert words in result.note
    assert "\n" not in result.note
    assert (result.steps[-1].action.content, result.steps[-1].observation.is_error) == ("(pi runtime)", True)


def test_time_that_the_endpoint_lost_is_not_the_episodes(play):
    class Limited:
        """Says that a minute is to be waited, and waits past the episode's own time."""

        def __init__(self):
            self.asked = 0

        def complete(self, _request):
            self.asked += 1
            if self.asked == 1:
                teller("worker", None)(Trouble("e", "m", "rate_limit", "slow down", "try 2 of 6", 0.0, 60.0))
                time.sleep(2.5)
            call = {"id": "c", "name": "submit", "arguments": '{"answer": "x"}'}
            reply = {"content": None, "tool_calls": (call,), "finish_reason": "tool_calls", "model": "m"}
            return ChatReply.model_validate(reply)

    result, _ = play(Limited(), ["bash", "-c", SHELL_AGENT], limits=Limits(timeout_s=2))
    assert result.stop_reason == "submitted"


@pytest.mark.parametrize("well", [True, False])
def test_a_model_that_is_silent_to_the_end_is_only_a_result_where_it_is_well(play, well):
    class Silent:
        def complete(self, _request):
            time.sleep(4)
            raise ProviderError("too late", transient=True)

    limits = Limits(timeout_s=2, grace_s=0)
    result, _ = play(Silent(), ["bash", "-c", SHELL_AGENT], limits=limits, model_answers=lambda: well)
    if well:
        assert (result.stop_reason, result.note, result.model_fault) == ("error", "timed out after 2 s", None)
    else:
        assert (result.stop_reason, result.model_fault) == ("provider_error", "transient")
        assert result.note == "the model did not answer, neither the agent nor a short question"


def test_a_reply_that_outlasts_the_episode_is_hung_up_on_so_that_the_model_is_found_well(play):
    with endpoint("babble", reply("ok")) as server:
        provider = Waterfall([OpenAIClient(Endpoint(base_url=server.url, model="m"), "")])
        limits = Limits(timeout_s=2, grace_s=0)
        started = time.monotonic()
        result, _ = play(provider, ["bash", "-c", SHELL_AGENT], limits=limits, model_answers=provider.answers)
        took_s = time.monotonic() - started
        provider.close()
    assert (result.stop_reason, result.note, result.model_fault) == ("error", "timed out after 2 s", None)
    assert (len(server.requests), took_s < PROBE_WITHIN_S) == (2, True)


@pytest.fixture
def score(vendor, tmp_path):
    """Give a function that scores pi with wmo-score against an endpoint's URL."""
    harness = tmp_path / "harness.json"
    harness.write_text(to_document(seed_tree(vendor), "pi").to_text())

    def run(url, *options):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WMO_")}
        names = {"WMO_BASE_URL": url, "WMO_MODEL": "mine", "WMO_API_KEY": "sk-very-secret"} if url else {}
        argv = [BIN / "wmo-score", harness, "--suite", TASKS, "--keep", tmp_path / "kept", *options]
        return subprocess.run(
            argv, env={**clean, **names}, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_a_wrong_model_name_stops_a_scoring_at_once_and_is_said_once(score):
    with endpoint((404, {}, {"error": {"message": "The model `mine` does not exist"}})) as server:
        done = score(server.url, "--jobs", "1")
    line = f"wmo-score: no verdict for 'count #1': the model failed: model 'mine' at '{server.url}': "
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == f"{line}the endpoint answered 404: The model `mine` does not exist\n"
    assert len(server.requests) == 1


def test_an_overflow_is_a_trials_result_with_its_verifiers_reward(score, tmp_path):
    hello = bash("echo hello > /app/greeting.txt")
    with endpoint(lambda number, _body: (400, {}, FULL) if number % 2 else hello) as server:
        done = score(server.url, "--task", "greet", "--task", "count", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    count, greet = json.loads(done.stdout)["report"]["cells"]
    assert (greet["reward"], greet["passed"], greet["infra_failed"]) == (1.0, True, False)
    assert (count["reward"], count["passed"]) == (0.0, False)
    assert count["note"].startswith(f"stopped: provider_error: model 'mine' at '{server.url}': the context is full, ")
    folder = tmp_path / "kept/trials/count/attempt-1"
    assert json.loads((folder / "cell.json").read_text())["stop_reason"] == "provider_error"
    assert json.loads((folder / "wmo-run.json").read_text())["model_fault"] == "request"


def test_an_agents_own_malformed_request_is_its_result_too(score):
    def plan(_number, body):
        own = len(body["tools"]) > 1  # not the plain request
        return (400, {}, {"error": {"message": "roles must alternate"}}) if own else reply("ok")

    with endpoint(plan) as server:
        done = score(server.url, "--task", "greet")
    assert done.returncode == 0, done.stderr
    assert "roles must alternate" in json.loads(done.stdout)["report"]["cells"][0]["note"]


def test_each_wait_is_a_line_and_what_passes_leaves_no_trace_in_the_score(score):
    busy = (429, {"Retry-After": "0"}, {"error": {"message": "slow down"}})
    with endpoint(busy, bash("echo hello > /app/greeting.txt"), submit()) as server:
        done = score(server.url, "--task", "greet")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] == 1.0
    where = f"model 'mine' at '{server.url}'"
    assert f"wmo-score: worker: {where}: the endpoint answered 429: slow down; try 2 of 6 in 0.0 s\n" in done.stderr
    assert "sk-very-secret" not in done.stderr


def test_a_second_endpoint_of_the_configuration_takes_over(score, tmp_path):
    gone = nobody()
    with endpoint(bash("echo hello > /app/greeting.txt"), submit()) as server:
        (tmp_path / "wmo.toml").write_text(
            f"[[roles.worker]]\nbase_url = '{gone}'\nmodel = 'first'\napi_key_env = ''\n"
            f"[[roles.worker]]\nbase_url = '{server.url}'\nmodel = 'second'\napi_key_env = ''\n"
        )
        done = score("", "--task", "greet", "--log-json")
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stderr.splitlines()]
    retries = [entry for entry in told if entry["event"] == "retry"]
    assert [entry["class"] for entry in retries] == ["connection"] * 3
    assert retries[0]["message"].startswith(f"worker: cannot connect to '{gone}': connection refused; try 2 of 3 in ")
    assert retries[-1]["message"].endswith(f"; going on with model 'second' at '{server.url}'")
