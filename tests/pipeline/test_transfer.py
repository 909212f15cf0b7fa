"""The transfer check with the offline model: of a run in real sandboxes, and of one that was made in simulation."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faulty_endpoint import endpoint, reply
from processes import wait_until

BIN = Path(sys.executable).parent

USAGES = ("usage", "world_usage", "judge_usage")
TASKS = ("fix-script", "permissions")
RULE = "echo 'Every reply must contain a tool call.' >> candidate/SYSTEM.md; echo acted"


@pytest.fixture(scope="module")
def real(shell, tmp_path_factory):
    """Give a finished run in real sandboxes, whose best is its only slot."""
    run = tmp_path_factory.mktemp("real") / "run"
    line = f"wmo-state init {run} --seed pi --suite suites/starter --tasks {','.join(TASKS)} --slots 1"
    done = shell(f'{line} --proposer command -- sh -c "{RULE}" && invoke resume --run {run}')
    assert done.returncode == 0, done.stderr
    return run


def read(run, name):
    return json.loads((run / "transfer" / f"{name}.json").read_text())


def cells(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("cell.json")}


def environments(folder):
    return {json.loads(path.read_text())["environment"]["kind"] for path in folder.rglob("episode.json")}


def test_a_real_run_is_played_in_simulation_too(shell, real):
    before = cells(real / "candidates")
    done = shell(f"make --no-print-directory transfer RUN={real} JOBS=2")
    assert done.returncode == 0, done.stderr
    assert read(real, "real-best")["report"] == json.loads((real / "candidates/candidate-0001/report.json").read_text())
    assert cells(real / "candidates") == before
    assert environments(real / "transfer/simulated") == {"world-model"}
    assert "in simulation (world model)" in done.stdout and "offline model: simulated" in done.stdout
    assert {path.name for path in (real / "transfer/simulated").iterdir()} == {"candidate-0000", "candidate-0001"}
    found = read(real, "agreement")
    assert [row["task_id"] for row in found["tasks"]] == list(TASKS)
    assert (found["transfer"]["gain_b"]["gain"], found["transfer"]["carries_over"]) == (0.5, None)
    assert found["a"]["score"] == pytest.approx(found["b"]["score"] + found["gap"])
    assert found["sentence"] in done.stdout and found["sentence"] in done.stderr
    assert all(task in done.stdout for task in TASKS)

    played = cells(real / "transfer")
    again = shell(f"make --no-print-directory transfer RUN={real}")
    assert (again.returncode, cells(real / "transfer")) == (0, played), again.stderr
    assert "candidate-0001: 2 of 2 trials are kept" in again.stderr
    assert read(real, "agreement") == found
    assert json.loads(shell(f"wmo-state verify {real}").stdout)["ok"]


def test_a_slots_scores_are_a_document(shell, real):
    seed, best = (json.loads(shell(f"wmo-state scores {real} {slot}").stdout) for slot in ("--slot 0", ""))
    assert (seed["schema"], seed["candidate_id"], seed["score"]) == ("wmo.score/1", "candidate-0000", 0.5)
    assert (best["candidate_id"], best["score"], best["simulated"]) == ("candidate-0001", 1, True)
    none = shell(f"wmo-state scores {real} --slot 7")
    assert (none.returncode, none.stdout, "slot 7 of" in none.stderr) == (1, "", True)


def test_a_run_made_in_simulation_is_scored_for_real_and_leaks_nothing(shell, tmp_path):
    run, kept = tmp_path / "run", tmp_path / "kept"
    recorded = shell(f"wmo-vendor tree | wmo-score - --suite suites/starter --task fix-script --keep {kept}")
    assert recorded.returncode == 0, recorded.stderr
    line = f"wmo-state init {run} --seed pi --suite suites/starter --tasks csv-repair --holdout fix-script --slots 0"
    score = f"wmo-score --run {run}"
    made = shell(f"{line} --env world-model --judge --recorded {kept} && {score} && {score}")
    assert made.returncode == 0, made.stderr
    told = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    for event, folder in zip(told[-2:], ("candidates", "holdout"), strict=True):
        [cell] = [json.loads(path.read_text()) for path in (run / folder).rglob("cell.json")]
        assert event["world_usage"]["calls"] > 0
        assert [event[name] for name in USAGES] == [cell[name] for name in USAGES]
    shown, hidden = (
        "".join(path.read_text() for path in (run / name).rglob("world-exchanges.json"))
        for name in ("candidates", "holdout")
    )
    assert '"content": ' in shown and "collect.sh" in hidden
    assert "collect.sh" not in shown  # though nothing else is recorded that could be an example

    shown = shell(f"invoke status --run {run}")
    assert "model (predicted); judged by offline-judge" in " ".join(shown.stdout.split()), shown.stderr
    done = shell(f"invoke transfer --run {run}")
    assert done.returncode == 0, done.stderr
    assert environments(run / "transfer/real") == {"sandbox"}
    report = json.loads((run / "candidates/candidate-0000/report.json").read_text())
    assert read(run, "simulated-seed")["report"] == report
    assert [row["task_id"] for row in read(run, "agreement")["tasks"]] == ["csv-repair"]
    assert "there is no gain in A that could carry over" in done.stdout


WORKER = """\
[roles.worker]
base_url = "{url}"
model = "mine"
api_key_env = "MINE"
"""


@pytest.fixture(scope="module")
def moved(shell, root, tmp_path_factory):
    """Give a folder with a finished run whose worker is configured no more, and what looks on at each of its calls."""
    folder = tmp_path_factory.mktemp("moved")
    shutil.copytree(root / "tools/wmo-score/tests/tasks/greet", folder / "suite/greet")
    (folder / "suite/greet/gold.toml").write_text('assertions = ["The agent greets."]\n')
    looks = []

    def submit(_number, _body):
        for look in looks:
            look()
        return reply(json.dumps({"tool": "submit", "arguments": {"answer": "done"}}))

    with endpoint(submit) as server:
        (folder / "wmo.toml").write_text(WORKER.format(url=server.url))
        init = "wmo-state init run --seed baseline --suite suite --slots 0"
        done = shell(f"{init} && wmo-score --run run", cwd=folder, env={"MINE": "k"})
        assert done.returncode == 0, done.stderr
        (folder / "wmo.toml").unlink()
        yield folder, looks


@pytest.fixture
def copied(shell, root, moved, tmp_path):
    """Give a function that runs `invoke transfer` on a copy of that run, which is beside tmp_path."""
    shutil.copytree(moved[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "temp").mkdir()
    variables = {"WMO_VENDOR": str(root / "vendor"), "TMPDIR": str(tmp_path / "temp")}
    line = f"invoke transfer --run {tmp_path}/run"
    return lambda key="k": shell(line, env=variables | ({"MINE": key} if key else {}))


def test_the_recorded_worker_is_scored_and_the_run_held_meanwhile(copied, moved, tmp_path):
    seen = []
    moved[1].append(lambda: seen.append(((tmp_path / "run/.lock").exists(), *(tmp_path / "temp").glob("*.json"))))
    done = copied()
    moved[1].clear()
    assert done.returncode == 0, done.stderr
    assert seen == [(True,)]  # the seed is the best, and no file is left outside where it is killed
    played = [json.loads(path.read_text()) for path in (tmp_path / "run/transfer").rglob("episode.json")]
    assert [episode["model"]["name"] for episode in played] == ["mine"]
    assert not (tmp_path / "run/.lock").exists()


def test_without_the_recorded_workers_key_there_is_no_result_old_or_new(copied, tmp_path):
    old = tmp_path / "run/transfer/agreement.json"
    old.parent.mkdir()
    old.write_text("{}")
    done = copied(key="")
    assert (done.returncode, "set the variable 'MINE'" in done.stderr) == (69, True), done.stderr
    assert not old.exists()


def test_tasks_that_changed_since_the_seed_was_scored_are_refused(copied, tmp_path):
    with (tmp_path / "suite/greet/instruction.md").open("a") as file:
        file.write("Do it well.\n")
    done = copied()
    assert (done.returncode, "scored its seed on them: 'greet'; " in done.stderr) == (78, True), done.stderr


def test_a_run_that_another_works_on_is_left_alone(shell, copied, tmp_path):
    with subprocess.Popen([BIN / "wmo-state", "hold", tmp_path / "run", "--", "sleep", "60"]) as holder:
        wait_until((tmp_path / "run/.lock").exists, holder)
        done = copied()
        holder.terminate()
    assert (done.returncode, f"in use by process {holder.pid}" in done.stderr) == (75, True), done.stderr
    assert not (tmp_path / "run/transfer").exists()


def test_no_run_is_missing(shell, tmp_path):
    done = shell(f"invoke transfer --run {tmp_path}/nowhere")
    assert (done.returncode, f"no run at '{tmp_path}/nowhere'" in done.stderr) == (69, True), done.stderr
    assert not (tmp_path / "nowhere").exists()
