"""Accounting and budgets, over a whole run: a model with prices on loopback plays worker and proposer."""

import json

import pytest
from faulty_endpoint import bash, endpoint, reply, submit

WORKER = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 500}}
PROPOSER = {"prompt_tokens": 20_000, "completion_tokens": 1000}
TRIAL_COST = (500 * 2 + 500 * 1 + 100 * 10) / 1e6
TURN_COST = 2 * (20_000 * 2 + 1000 * 10) / 1e6
TOML = """\
[roles.{role}]
base_url = "{url}"
model = "priced"
api_key_env = ""
price_in = 2
price_out = 10
price_cached = 1
"""


def plan(_number, body):
    """Submit at once as a worker; as the proposer, change the prompt, then submit."""
    if "REQUEST.md" not in json.dumps(body["messages"]):
        return {**reply(json.dumps({"tool": "submit", "arguments": {"answer": "done"}})), "usage": WORKER}
    acted = any(message["role"] == "tool" for message in body["messages"])
    return {**(submit("more words") if acted else bash("echo more >> candidate/SYSTEM.md")), "usage": PROPOSER}


@pytest.fixture
def place(shell, root, tmp_path):
    """Give a function that runs a line in a folder whose wmo.toml names that model."""
    with endpoint(plan) as server:
        text = "".join(TOML.format(role=role, url=server.url) for role in ("worker", "proposer"))
        (tmp_path / "wmo.toml").write_text(text)
        variables = {"WMO_VENDOR": str(root / "vendor"), "SUITE": str(root / "tools/wmo-score/tests/tasks")}
        yield lambda line: shell(line, cwd=tmp_path, env=variables)


INIT = "wmo-state init run --seed baseline --suite $SUITE --tasks greet,count"


def status(place):
    return json.loads(place("wmo-state status run").stdout)


def test_tokens_and_cost_stand_in_the_cells_and_add_up(place, tmp_path):
    done = place(f"{INIT} --slots 1 && wmo-score --run run && wmo-propose --run run && wmo-score --run run")
    assert done.returncode == 0, done.stderr
    cell = json.loads((tmp_path / "run/candidates/candidate-0001/trials/greet/attempt-1/cell.json").read_text())
    assert cell["usage"] == {
        "calls": 1,
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "cached_tokens": 500,
        "cost": pytest.approx(TRIAL_COST),
    }
    view = status(place)
    seed, slot = (outcome["spent"] for outcome in view["outcomes"])
    assert (seed["worker"]["calls"], seed["proposer"]["calls"]) == (2, 0)
    assert slot["proposer"]["cost"] == pytest.approx(TURN_COST)
    assert view["spent"]["worker"]["cost"] == pytest.approx(4 * TRIAL_COST)
    assert view["spent"]["timings"].keys() == {"proposer", "verifier", "worker"}
    assert view["settings"]["worker"]["price_cached"] == 1
    assert place("wmo-state verify run").returncode == 0
