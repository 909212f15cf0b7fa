"""World models that babble, are down or hang: never an observation, never a score, and the evidence stays."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faulty_endpoint import bash, endpoint, reply, submit, tool_call

BIN = Path(sys.executable).parent
TASKS = Path(__file__).parents[2] / "tools/wmo-score/tests/tasks"
GOOD = json.dumps({"content": "hi\n", "is_error": False, "state_note": "said hi"})
ROLE = "[roles.{role}]\nbase_url = '{url}'\nmodel = 'm'\napi_key_env = ''\ntimeout_s = {timeout}\n"


class Scoring:
    """wmo-score of pi in a world model; the judge passes whatever came to its end."""

    def __init__(self, room: Path) -> None:
        self.room, self.kept = room, room / "kept/trials/greet/attempt-1"
        shutil.copytree(TASKS / "greet", room / "suite/greet")
        (room / "suite/greet/gold.toml").write_text("assertions = []\n")
        with (room / "seed.json").open("w") as file:
            subprocess.run([BIN / "wmo-vendor", "tree"], stdout=file, check=True)

    def start(self, worker: str, world: str, timeout: float = 30) -> subprocess.Popen[str]:
        roles = {"worker": worker, "world": world}
        (self.room / "wmo.toml").write_text(
            "".join(ROLE.format(role=role, url=url, timeout=timeout) for role, url in roles.items())
        )
        env = {name: value for name, value in os.environ.items() if not name.startswith("WMO_")}
        argv = [BIN / "wmo-score", "seed.json", "--suite", "suite", "--keep", "kept", "--env", "world-model", "--judge"]
        return subprocess.Popen(argv, env=env, cwd=self.room, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, worker: str, world: str) -> tuple[int, str, str]:
        process = self.start(worker, world)
        out, words = process.communicate(timeout=120)
        return process.returncode, out, words

    def world_exchanges(self, folder: Path) -> list[dict]:
        return json.loads((folder / "world-exchanges.json").read_text())["exchanges"]


@pytest.fixture
def scoring(tmp_path) -> Scoring:
    return Scoring(tmp_path)


def worker(number: int, _body: dict) -> dict:
    return submit("done") if number else bash("echo hi")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (reply("hi"), "it is not one JSON value"),
        (reply(GOOD + GOOD), "it is not one JSON value"),
        (reply(GOOD.replace("content", "output")), "its keys are 'is_error', 'output', 'state_note', and must be"),
        (reply(GOOD, finish="length"), "it was cut off at the output limit"),
        (reply(None, tool_call("bash", "{}")), "it calls a tool"),
    ],
)
def test_a_world_that_babbles_gives_no_score_and_keeps_what_it_said(scoring, said, problem):
    with endpoint(worker) as agent, endpoint(said) as world:
        code, out, words = scoring.run(agent.url, world.url)
    assert (code, out) == (75, ""), words
    assert "'greet #1': the world model gave no valid reply to a call of 'bash' in 3 tries; the last: " in words
    assert problem in words
    assert len(world.requests) == 3
    assert problem in world.requests[1]["messages"][-1]["content"]
    partial = scoring.kept.with_name("attempt-1.partial")
    assert not scoring.kept.exists()
    assert len(scoring.world_exchanges(partial)) == 3
    assert json.loads((partial / "exchanges.json").read_text())["exchanges"][0]["reply"]["tool_calls"]
    assert not (partial / "cell.json").exists()


def test_what_was_played_before_a_world_failed_is_kept_and_can_be_played_again(scoring):
    def agent_says(number: int, _body: dict) -> dict:
        return bash("echo hi") if number == 0 else bash("echo ho")

    with endpoint(agent_says) as agent, endpoint(reply(GOOD), reply("?")) as world:
        code, _, words = scoring.run(agent.url, world.url)
    assert code == 75, words
    partial = scoring.kept.with_name("attempt-1.partial")
    result = json.loads((partial / "wmo-run.json").read_text())
    assert [step["action"]["arguments"] for step in result["steps"]][:-1] == [{"command": "echo hi"}]
    assert result["stop_reason"] == "error"
    again = subprocess.run(
        [BIN / "wmo-shim", "--replay", partial], cwd=scoring.room, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1, again.stderr
    assert json.loads(again.stdout)["steps"][0] == result["steps"][0]


def test_one_bad_reply_is_asked_for_again_and_paid_for(scoring):
    with endpoint(worker) as agent, endpoint(reply("?"), reply(f"```json\n{GOOD}\n```")) as world:
        code, out, words = scoring.run(agent.url, world.url)
    assert code == 0, words
    assert json.loads(out)["score"] == 1.0
    cell = json.loads((scoring.kept / "cell.json").read_text())
    assert (cell["world_usage"]["calls"], cell["world_usage"]["prompt_tokens"], cell["usage"]["calls"]) == (2, 20, 2)
    step = json.loads((scoring.kept / "wmo-run.json").read_text())["steps"][0]
    assert (step["observation"]["content"], step["state_before"]) == ("hi\n", "")


@pytest.mark.parametrize(
    ("plan", "code", "says"),
    [
        ((401, {}, {"error": {"message": "no such key"}}), 69, "'greet #1': the world model failed: .*no such key"),
        ((400, {}, {"error": {"message": "roles must alternate"}}), 69, "'greet #1': .*must alternate"),
        ((400, {}, {"error": {"message": "maximum context length is 9"}}), 69, "'greet #1': .* a larger context"),
        ((429, {"Retry-After": "0"}, {"error": {"message": "slow down"}}), 75, "the world model failed: .*slow down"),
    ],
)
def test_a_world_that_is_down_or_refuses_gives_no_score(scoring, plan, code, says):
    with endpoint(worker) as agent, endpoint(plan) as world:
        found, out, words = scoring.run(agent.url, world.url)
    assert (found, out) == (code, "")
    assert re.search(says, words), words
    failed = scoring.world_exchanges(scoring.kept.with_name("attempt-1.partial"))[0]["failure"]
    assert failed["transient"] is (code == 75)


def test_ctrl_c_does_not_wait_for_a_world_that_hangs(scoring):
    with endpoint(worker) as agent, endpoint("hang") as world:
        process = scoring.start(agent.url, world.url, timeout=300)
        while not world.requests:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        process.communicate(timeout=60)
        took_s = time.monotonic() - started
    assert process.returncode == 130
    assert took_s < 20
    assert not scoring.kept.exists()
