"""wmo-score among the other tools: the contracts' pipes with the real pi, the suite's health, a run's boundary."""

import json

import pytest

PROPOSE = """
import pathlib, sys
from wmo_harness.source_tree import SourceTree
from wmo_population.recorded import open_run
with open_run(pathlib.Path(sys.argv[1])) as run:
    run.record_pending(SourceTree.from_mapping({**run.plan.seed.as_mapping(), "SYSTEM.md": "Act."}))
"""


def test_the_vendored_pi_is_scored_through_a_pipe(shell):
    done = shell("wmo-vendor tree | wmo-score - --suite suites/starter --task fix-script | jq .score")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 1.0
    assert "fix-script #1 pass (submitted)" in done.stderr


def test_a_snapshot_is_scored_into_a_file(shell, tmp_path):
    line = (
        "wmo-vendor tree | wmo-materialize --into {0}/pi >&2 && "
        "wmo-materialize --snapshot {0}/pi | wmo-score - --suite suites/starter --task permissions -o {0}/report.json"
    )
    done = shell(line.format(tmp_path))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["schema"] == "wmo.score/1"
    assert document["simulated"] is True
    assert [cell["task_id"] for cell in document["report"]["cells"]] == ["permissions"]


@pytest.mark.parametrize(("agent", "score"), [("oracle", 1.0), ("nop", 0.0)])
def test_the_starter_suite_is_healthy(shell, agent, score):
    done = shell(f"wmo-score --suite suites/starter --agent {agent} --jobs 4")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    notes = {cell["task_id"]: cell["note"] for cell in document["report"]["cells"]}
    assert document["score"] == score, notes
    assert len(notes) == 12


def test_two_scorings_leave_the_same_evidence(shell, evidence, tmp_path):
    tasks = "--task archive-forensics --task config-migration --task permissions --task csv-repair"
    shell(f"wmo-vendor tree > {tmp_path}/pi.json")
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, jobs in zip(folders, (4, 1), strict=True):
        line = f"wmo-score {tmp_path}/pi.json --suite suites/starter {tasks} --jobs {jobs} --keep {folder}"
        done = shell(f"{line} -o {folder}.json")
        assert done.returncode == 0, done.stderr
    first, second = (evidence(folder) for folder in folders)
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert 0 < json.loads((tmp_path / "one.json").read_text())["score"] < 1


def test_a_runs_seed_is_scored_and_committed_once(shell, tmp_path):
    run = tmp_path / "run"
    shell(f"wmo-state init {run} --seed pi --suite suites/starter --slots 0 --tasks fix-script,permissions")

    refused = shell(f"wmo-score --run {run} --attempts 3")
    assert refused.returncode == 78
    assert "'--attempts' says '3', but the run's record '1'" in refused.stderr

    other = shell(f"wmo-score other.json --run {run}")
    assert other.returncode == 2
    assert "leave out 'other.json'" in other.stderr

    done = shell(f"wmo-score --run {run} --jobs 2")
    assert done.returncode == 0, done.stderr
    assert "seed: 2/2 " in done.stderr
    document = json.loads(done.stdout)
    assert (document["candidate_id"], document["score"], document["simulated"]) == ("candidate-0000", 0.5, True)
    candidate = run / "candidates/candidate-0000"
    assert json.loads((candidate / "report.json").read_text()) == document["report"]
    state = json.loads((run / "state.json").read_text())
    assert [(entry["slot"], entry["score"]) for entry in state["outcomes"]] == [(0, 0.5)]
    names = {path.name for path in (candidate / "trials/fix-script/attempt-1").iterdir()}
    assert names == {"episode.json", "exchanges.json", "wmo-run.json", "verifier", "cell.json"}
    assert not (run / ".work").exists() and not (run / ".lock").exists()
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    scored = [event for event in events if event["event"] == "scored"]
    assert len(scored) == 1
    assert scored[0]["usage"]["calls"] > 0

    again = shell(f"wmo-score --run {run}")
    assert (again.returncode, again.stdout) == (78, "")
    assert "its next step is 'done'" in again.stderr


def test_the_episode_document_of_a_trial_plays_again_by_hand(shell, tmp_path):
    line = f"wmo-vendor tree | wmo-score - --suite suites/starter --task fix-script --keep {tmp_path}/k"
    assert shell(line).returncode == 0
    episode = tmp_path / "k/trials/fix-script/attempt-1/episode.json"
    done = shell(f"wmo-shim --episode {episode} -- node --experimental-strip-types entry.ts")
    assert done.returncode == 0, done.stderr
    replayed, recorded = json.loads(done.stdout), json.loads(episode.with_name("wmo-run.json").read_text())
    for result in (replayed, recorded):
        del result["timings"]
    assert replayed == recorded


def test_tasks_that_changed_after_the_seeds_scores_are_named(shell, tmp_path, root):
    run, suite = tmp_path / "run", tmp_path / "suite"
    shell(f"cp -r {root}/tools/wmo-score/tests/tasks {suite}")
    shell(f"wmo-state init {run} --seed pi --suite {suite} --slots 1 --tasks greet,count --proposer command -- true")
    assert shell(f"wmo-score --run {run}").returncode == 0
    (suite / "greet/instruction.md").write_text("Say hello.\n")
    assert shell(f"python - {run}", stdin=PROPOSE).returncode == 0
    done = shell(f"wmo-score --run {run}")
    assert done.returncode == 0, done.stderr
    assert "tasks changed since the seed was scored: greet; " in done.stderr
    assert "slot 1: 2/2 " in done.stderr
    assert json.loads(done.stdout)["candidate_id"] == "candidate-0001"


def test_a_real_model_without_a_sandbox_needs_consent_everywhere(shell, root, tmp_path):
    real = {"WMO_BASE_URL": "http://127.0.0.1:9/v1", "WMO_MODEL": "m", "WMO_API_KEY": "k"}
    suite = f"{root}/tools/wmo-score/tests/tasks"
    line = f"wmo-vendor tree | wmo-score - --suite {suite} --task greet --sandbox none"
    refused = shell(line, env=real)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "runs as you" in refused.stderr and "add '--yes'" in refused.stderr
    agreed = shell(f"{line} --yes --keep {tmp_path}/k", env=real)
    assert agreed.returncode == 75  # nobody is at that address; it was asked
    assert "127.0.0.1:9" in agreed.stderr
    simulated = shell(f"{line} --keep {tmp_path}/s")
    assert json.loads(simulated.stdout)["sandbox"] == "none", simulated.stderr

    episode = tmp_path / "s/trials/greet/attempt-1/episode.json"
    document = json.loads(episode.read_text())
    document["model"]["name"] = "m"
    episode.write_text(json.dumps(document))
    refused = shell(f"wmo-shim --episode {episode} -- true", env=real)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "add '--yes'" in refused.stderr
    played = shell(f"wmo-shim --yes --episode {episode} -- true", env=real)
    assert json.loads(played.stdout)["stop_reason"] == "max_turns", played.stderr


def test_the_table_says_that_there_was_no_sandbox_and_what_was_open(shell, tmp_path):
    init = "wmo-state init {} --seed pi --suite suites/starter --slots 1 --proposer command"
    shell(f"{init.format(tmp_path / 'bare')} --sandbox none -- true")
    shell(f"{init.format(tmp_path / 'open')} --allow network --allow env:HOME -- true")
    bare, opened = (" ".join(shell(f"invoke status --run {tmp_path}/{run}").stdout.split()) for run in ("bare", "open"))
    assert "no sandbox: agents, tools and proposer ran as you" in bare
    assert "the proposer's box opens env:HOME, network" in opened
    assert "no sandbox" not in opened


def test_make_run_hands_consent_on(shell, tmp_path):
    env = {"WMO_BASE_URL": "http://127.0.0.1:9/v1", "WMO_MODEL": "m", "WMO_API_KEY": "k"}
    run = tmp_path / "run"
    shell(
        f"wmo-state init {run} --seed pi --suite suites/starter --slots 0 --tasks fix-script --sandbox none --yes",
        env=env,
    )
    record = json.loads((run / "run.json").read_text())
    record["settings"]["consent"] = False
    del record["settings_hash"]
    (run / "run.json").write_text(json.dumps(record))
    assert "add '--yes' (make run: YES=1)" in shell(f"make run RUN={run}", env=env).stderr
    done = shell(f"make run RUN={run} YES=1", env=env)
    assert "127.0.0.1:9" in done.stderr
    assert json.loads((run / "run.json").read_text())["settings"]["consent"] is True
