"""Accounting and budgets, over a whole run: a model with prices on loopback plays worker and proposer."""

import json

import pytest
from faulty_endpoint import bash, endpoint, reply, submit

WORKER = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 500}}
PROPOSER = {"prompt_tokens": 20_000, "completion_tokens": 1000}
TRIAL_COST = (500 * 2 + 500 * 1 + 100 * 10) / 1e6
TURN_COST = 2 * (20_000 * 2 + 1000 * 10) / 1e6
ROLES = ("worker", "proposer")
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
    assert view["spent"]["timings"].keys() == {"judge", "proposer", "verifier", "worker"}
    assert view["settings"]["worker"]["price_cached"] == 1
    assert place("wmo-state verify run").returncode == 0


def test_a_run_stops_at_its_budget_with_the_boundary_in_hand_committed(place, root):
    assert place(f"{INIT} --slots 3 --max-cost 0.01").returncode == 0
    loop = "while true; do wmo-score --run run || exit; wmo-propose --run run || exit; done"
    done = place(loop)
    total = 4 * TRIAL_COST + TURN_COST  # the turn went over the limit; its candidate is scored all the same
    assert done.returncode == 75
    assert f"reached its budget: cost {total:.6f} of 0.01 (worker {4 * TRIAL_COST:.6f}, " in done.stderr
    assert "/run --max-cost N' (a number, or never; make: MAX_COST=N)" in done.stderr
    assert [outcome["kind"] for outcome in status(place)["outcomes"]] == ["scored", "scored"]
    assert place("wmo-propose --run run").returncode == 75
    shown = place(f"invoke -r {root} loop --run $PWD/run")
    assert (shown.returncode, "candidate-0001" in shown.stdout) == (75, True), shown.stderr

    raised = place(f"wmo-state init run --max-cost never --max-tokens {status(place)['spent']['worker']['calls']}")
    assert "max cost, now never, max tokens, now 4" in raised.stderr
    done = place("wmo-propose --run run")
    assert (done.returncode, "of 4 tokens (worker 4400, proposer 42000)" in done.stderr) == (75, True)
    assert place("wmo-state init run --max-tokens 1000000 && wmo-propose --run run").returncode == 0
    assert place("wmo-score --run run").returncode == 0


def test_a_limit_of_cost_needs_prices_and_new_prices_are_taken(place, tmp_path):
    toml = tmp_path / "wmo.toml"
    priced = toml.read_text()
    toml.write_text("".join(line for line in priced.splitlines(keepends=True) if not line.startswith("price_")))
    refused = place(f"{INIT} --slots 1 --max-cost 1")
    assert (refused.returncode, "'priced' at 'http://127.0.0.1" in refused.stderr) == (78, True)
    assert place(f"{INIT} --slots 1 --max-tokens 9").returncode == 0
    toml.write_text(priced)
    done = place("wmo-state init run --max-cost 1")
    assert "the prices of the worker, the prices of the proposer, max cost, now 1.0" in done.stderr
    assert place("wmo-state init run").returncode == 0
    for bad in ("--max-cost 0", "--max-cost nan", "--max-tokens 1.5", "--max-tokens 0"):
        assert place(f"wmo-state init run {bad}").returncode == 2


def test_a_budget_without_reported_tokens_is_no_budget(place, tmp_path):
    with endpoint(lambda number, body: {**plan(number, body), "usage": None}) as silent:
        text = "".join(TOML.format(role=role, url=silent.url) for role in ("worker", "proposer"))
        (tmp_path / "wmo.toml").write_text(text)
        assert place(f"{INIT} --slots 1 --max-tokens 9 && wmo-score --run run").returncode == 0
        done = place("wmo-propose --run run")
    assert (done.returncode, "the worker's endpoint reports no tokens" in done.stderr) == (78, True)


def test_a_plan_says_what_will_be_paid_for_and_whether_the_budget_does(place, tmp_path, root):
    assert place(f"{INIT} --slots 5 --max-tokens 100000").returncode == 0
    text = (tmp_path / "wmo.toml").read_text()
    (tmp_path / "wmo.toml").write_text(text.replace('model = "priced"\n', 'model = "priced"\ncontext_window = 8000\n'))
    before = sorted(tmp_path.rglob("*"))
    first = json.loads(place("wmo-score --run run --dry-run").stdout)
    assert (first["schema"], first["slots"]) == ("wmo.plan/1", 5)
    assert (first["worker"]["jobs"], first["proposer"]["jobs"]) == (12, 5)
    assert first["worker"]["worst_case"] == {
        "calls": 12 * 40,
        "prompt_tokens": 12 * 40 * 8000,
        "completion_tokens": 12 * 40 * 4096,
        "cost": pytest.approx(12 * 40 * (8000 * 2 + 4096 * 10) / 1e6),
    }
    assert first["proposer"]["worst_case"]["completion_tokens"] == 5 * 60 * 16_384
    assert first["total"]["cost"] == pytest.approx(sum(first[role]["worst_case"]["cost"] for role in ROLES))
    assert (first["worker"]["estimate"], "nothing is scored yet" in first["warnings"][0]) == (None, True)
    assert sorted(tmp_path.rglob("*")) == before
    assert place("wmo-score --run run && wmo-propose --run run && wmo-score --run run").returncode == 0

    done = place("wmo-score --run run --dry-run")
    after = json.loads(done.stdout)
    assert (after["slots"], after["worker"]["jobs"]) == (4, 8)
    assert after["worker"]["estimate"]["cost"] == pytest.approx(8 * TRIAL_COST)
    assert after["proposer"]["estimate"]["cost"] == pytest.approx(4 * TURN_COST)
    used, slot = 4 * 1100 + 42_000, 2 * 1100 + 42_000
    assert used + slot < 100_000 < used + 2 * slot
    assert "tokens 46400 of 100000 are used, and about 2 of 4 slots fit in the rest" in after["warnings"][0]
    assert after["warnings"][0] in done.stderr
    made = place(f"invoke -r {root} plan --run {tmp_path}/other --suite $SUITE --seed baseline --slots 1")
    assert (made.returncode, (tmp_path / "other").exists()) == (0, False), made.stderr
    assert "6 trials: at most 240 calls" in made.stderr
    assert "': made" not in made.stderr
    assert place(f"invoke -r {root} plan --run {tmp_path}/run --slots 9").returncode == 2


def test_a_plan_says_whose_cost_is_unknown_and_why(place, tmp_path):
    toml = tmp_path / "wmo.toml"
    plan = f"{INIT} --slots 1 > made.json && wmo-score --run run --dry-run; rm -r run"
    windowless = place(plan)
    assert "cost unknown for worker: no context window" in windowless.stderr
    worker, proposer = toml.read_text().split("[roles.proposer]")
    kept = "".join(line for line in worker.splitlines(keepends=True) if not line.startswith("price_"))
    window = "context_window = 8000\n"
    toml.write_text(f"{kept}{window}[roles.proposer]{proposer}{window}")
    partial = place(plan)
    found = json.loads(partial.stdout)
    assert (found["worker"]["cost_unknown"], found["proposer"]["cost_unknown"]) == ("no price", "")
    assert (found["proposer"]["worst_case"]["cost"] > 0, found["total"]["cost"]) == (True, None)
    assert "cost unknown for worker: no price" in partial.stderr
    assert "in all: at most 220 calls, 1,760,000 tokens in, 1,638,400 out, cost unknown for worker" in partial.stderr


def test_the_table_says_whose_cost_is_unknown(place, tmp_path, root):
    toml = tmp_path / "wmo.toml"
    toml.write_text("".join(line for line in toml.read_text().splitlines(True) if not line.startswith("price_")))
    assert place(f"{INIT} --slots 1 && wmo-score --run run").returncode == 0
    shown = place(f"invoke -r {root} status --run {tmp_path}/run")
    assert (shown.returncode, shown.stdout.count("cost unknown for")) == (0, 1), shown.stderr
    assert "cost unknown for worker: no price" in shown.stdout


def test_the_scoring_of_a_harness_can_be_planned_too(place):
    done = place("wmo-vendor tree --seed baseline | wmo-score - --suite $SUITE --task greet --attempts 3 --dry-run")
    assert json.loads(done.stdout)["worker"]["worst_case"]["calls"] == 3 * 40, done.stderr
    assert place("wmo-score --suite $SUITE --agent oracle --dry-run").returncode == 2
