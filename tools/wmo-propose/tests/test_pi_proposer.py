"""wmo-propose with the vendored pi driven by the offline optimizer: real node, real sandbox, real server."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty_endpoint import bash, endpoint
from processes import alive, descendants, wait_until
from silent_model import silent_model
from wmo_harness.pi_agent import seed_tree

TOOL = Path(sys.executable).parent / "wmo-propose"
NAMES = ("REQUEST.md", "events.json", "exchanges.json", "status.json")


def propose(run: Path) -> subprocess.CompletedProcess:
    return subprocess.run([TOOL, "--run", run], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("sandbox", ["bwrap", "none"])
def test_the_offline_optimizer_proposes_through_pi(make_run: Callable, vendor: Path, sandbox: str) -> None:
    made = make_run(seed=seed_tree(vendor).as_mapping(), sandbox=sandbox)
    done = propose(made.dir)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "wmo.candidate/1"
    assert document["summary"]
    events = made.json("proposals/slot-0001/events.json")
    assert events["stop_reason"] == "submitted"
    assert events["answer"].startswith(document["summary"])
    assert any("no_tool_call" in step["observation"]["content"] for step in events["steps"])
    assert events["usage"]["calls"] > events["turns"] == len(events["steps"])
    assert made.json("candidates/candidate-0001/pending.json")["candidate_id"] == "candidate-0001"
    assert not made.layout.work.exists()


def test_two_equal_runs_give_equal_evidence(make_run: Callable, vendor: Path) -> None:
    made = make_run(seed=seed_tree(vendor).as_mapping())
    assert propose(made.dir).returncode == 0
    proposals = made.layout.proposal_dir(1)
    first = {name: (proposals / name).read_text() for name in NAMES}
    proposals.rename(made.dir / "first")
    made.layout.pending(1).unlink()
    assert propose(made.dir).returncode == 0
    again = {name: (proposals / name).read_text() for name in first}
    assert again["REQUEST.md"] == first["REQUEST.md"]
    assert again["status.json"] == first["status.json"]
    assert again["exchanges.json"] == first["exchanges.json"]
    assert json.loads(first["exchanges.json"])["total"] == json.loads(first["events.json"])["usage"]["calls"]
    assert {**json.loads(again["events.json"]), "timings": {}} == {**json.loads(first["events.json"]), "timings": {}}


def test_a_model_that_is_down_consumes_nothing(make_run: Callable, vendor: Path) -> None:
    made = make_run(seed=seed_tree(vendor).as_mapping(), base_url="http://127.0.0.1:9/v1")
    done = propose(made.dir)
    assert (done.returncode, done.stdout) == (75, "")
    assert "slot 1 is not consumed" in done.stderr
    waits = [line for line in done.stderr.splitlines() if line.startswith("wmo-propose: proposer: ")]
    assert len(waits) == 5
    assert all("cannot connect to 'http://127.0.0.1:9/v1': connection refused; try " in line for line in waits)
    assert len(made.json("state.json")["outcomes"]) == 1
    assert made.json("proposals/slot-0001/events.json")["stop_reason"] == "provider_error"
    assert not (made.layout.proposal_dir(1) / "status.json").exists()


def test_a_model_that_does_not_exist_consumes_nothing_and_is_not_worth_another_try(make_run: Callable, vendor: Path):
    with endpoint((404, {}, {"error": {"message": "no such model"}})) as server:
        made = make_run(seed=seed_tree(vendor).as_mapping(), base_url=server.url)
        done = propose(made.dir)
    assert (done.returncode, done.stdout, len(server.requests)) == (69, "", 1)
    assert "no such model; slot 1 is not consumed: once that is mended, run the same command again" in done.stderr
    assert len(made.json("state.json")["outcomes"]) == 1


def test_a_turn_that_outgrows_its_models_context_is_a_rejection(make_run: Callable, vendor: Path) -> None:
    full = (400, {}, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    with endpoint(bash("cat REQUEST.md"), full) as server:
        made = make_run(seed=seed_tree(vendor).as_mapping(), base_url=server.url)
        done = propose(made.dir)
    assert done.returncode == 1, done.stderr
    reason = json.loads(done.stdout)["reason"]
    assert reason.startswith("the proposer's model refused the request: model 'offline-optimizer' at ")
    assert "the context is full, the endpoint answered 400: prompt is too long" in reason
    assert made.json("state.json")["outcomes"][1]["kind"] == "invalid"


@pytest.mark.parametrize("sandbox", ["bwrap", "none"])
def test_a_turn_that_a_signal_cuts_leaves_its_transcript_and_consumes_nothing(
    make_run: Callable, vendor: Path, sandbox: str
) -> None:
    with silent_model() as (address, asked):
        made = make_run(seed=seed_tree(vendor).as_mapping(), base_url=address, sandbox=sandbox)
        process = subprocess.Popen([TOOL, "--run", made.dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(asked.is_set, process)
        below = descendants(process.pid)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
        output, words = process.communicate(timeout=30)
    assert (process.returncode, output) == (130, ""), words
    assert alive(below) == []
    cut = made.json("proposals/slot-0001/events.json")
    assert [step["observation"]["content"] for step in cut["steps"]] == [
        "so far\n",
        "the episode was stopped before /done",
    ]
    assert len(made.json("state.json")["outcomes"]) == 1
    assert not (made.layout.proposal_dir(1) / "status.json").exists()
    assert not made.layout.work.exists()
