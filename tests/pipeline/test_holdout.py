"""Held-out tasks in whole runs with the offline model: hidden from proposers, killed, resumed, extended, audited."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import wait_until

BIN = Path(sys.executable).parent
HELD_OUT = ("fix-script", "text-encoding")
INIT = "wmo-state init {run} --suite {suite} --tasks permissions --holdout text-encoding,fix-script"
AGENT = """\
rule='Be kind.'
[ -d history/candidate-0001 ] && rule='Every reply must contain a tool call.'
echo "$rule" >> candidate/SYSTEM.md
exec 3>&1 > {seen} 2> /dev/null
grep -rlF {names} . {run} {suite}
cat /proc/[0-9]*/environ | tr '\\0' '\\n'
ls -R . {run} {suite}
ls -d {suite}/* {run}/holdout/*
exec >&3
echo "said: $rule"
"""


class Held:
    """The run of this module and what its proposer could see."""

    def __init__(self, folder, shell, root):
        self.run, self.seen, self.suite = folder / "run", folder / "seen.txt", root / "suites/starter"
        self.shell, self.root = shell, root
        instruction = (self.suite / "text-encoding/instruction.md").read_text().splitlines()[0][:40]
        names = " ".join(f"-e '{name}'" for name in (*HELD_OUT, instruction))
        self.agent = folder / "agent.sh"
        self.seen.touch()
        self.allow = f"--allow read:{self.agent} --allow write:{self.seen} --allow network"
        self.agent.write_text(AGENT.format(names=names, run=self.run, suite=self.suite, seen=self.seen))

    def loop(self):
        """Go on to the end as `make run` does, told by make's own variables what is held out."""
        told = {"HOLDOUT": ",".join(HELD_OUT), "MAKEFLAGS": f" -- HOLDOUT={','.join(HELD_OUT)}"}
        return self.shell(f"invoke -r {self.root} resume --run {self.run}", env=told)

    def status(self):
        return json.loads(self.shell(f"wmo-state status {self.run}").stdout)

    def next(self):
        return json.loads(self.shell(f"wmo-state next {self.run}").stdout)

    def verify(self):
        return json.loads(self.shell(f"wmo-state verify {self.run}").stdout)


@pytest.fixture(scope="module")
def held(shell, root, tmp_path_factory):
    """Give a finished run of one slot whose best is the seed."""
    made = Held(tmp_path_factory.mktemp("held"), shell, root)
    line = INIT.format(run=made.run, suite=made.suite)
    done = shell(f"{line} --seed pi --slots 1 --proposer command {made.allow} -- sh {made.agent}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["holdout"]["tasks"] == list(HELD_OUT)
    made.done = made.loop()
    assert made.done.returncode == 0, made.done.stderr
    return made


def unseen(made):
    """Say that the proposer's turn ran, and that nothing it could read names or quotes a held-out task."""
    text = made.seen.read_text()
    assert "PATH=" in text and "SYSTEM.md" in text
    for name in HELD_OUT:
        assert name not in text
    assert f"{made.run}/holdout/candidate" not in text
    return True


def test_where_the_seed_is_the_best_one_scoring_serves_both(held):
    view = held.status()
    assert (view["best"]["candidate_id"], view["completed"]) == ("candidate-0000", True)
    assert view["holdout"] == {
        "tasks": list(HELD_OUT),
        "candidate_id": "candidate-0000",
        "seed_score": 0.5,
        "best_score": 0.5,
        "gain": 0,
        "low": 0,
        "high": 0,
        "within_noise": True,
    }
    assert [path.name for path in (held.run / "holdout").iterdir()] == ["candidate-0000"]
    assert {cell["task_id"] for cell in report(held.run / "candidates/candidate-0000")["cells"]} == {"permissions"}
    assert "held-out tasks (2): seed 0.5000, best 0.5000, gain +0.0000" in held.done.stdout
    assert "within noise" in held.done.stdout
    assert unseen(held)


def report(folder):
    return json.loads((folder / "report.json").read_text())


def test_a_longer_run_is_killed_amid_its_held_out_tasks_and_goes_on(held):
    seed = held.run / "holdout/candidate-0000/report.json"
    before = seed.stat().st_mtime_ns
    assert held.shell(f"wmo-state init {held.run} --slots 2").returncode == 0
    assert held.next() == {"step": "propose", "slot": 2}
    held.seen.write_text("")
    assert held.shell(f"wmo-propose --run {held.run} && wmo-score --run {held.run}").returncode == 0
    assert unseen(held)  # though the seed's report on them lies in the run by now
    assert held.next() == {"step": "score-holdout", "slot": 2}
    waiting = held.status()
    assert (waiting["completed"], waiting["holdout"]["seed_score"], waiting["holdout"]["gain"]) == (False, 0.5, None)
    refused = held.shell(f"wmo-propose --run {held.run}")
    assert (refused.returncode, "next is 'score-holdout' of slot 2" in refused.stderr) == (78, True)

    folder = held.run / "holdout/candidate-0002"
    first = folder / "trials/fix-script/attempt-1/cell.json"
    argv = [BIN / "wmo-score", "--run", held.run, "--jobs", "1"]
    with subprocess.Popen(argv, cwd=held.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(first.exists, process)
        os.kill(process.pid, signal.SIGKILL)
    assert not (folder / "report.json").exists()
    (folder / ".report.json.abcdefgh.tmp").write_text("{")
    assert held.verify()["ok"]
    kept = first.stat().st_mtime_ns
    done = held.loop()
    assert done.returncode == 0, done.stderr
    assert "slot 2, held-out tasks: 1 of 2 trials are kept" in done.stderr
    assert (first.stat().st_mtime_ns, seed.stat().st_mtime_ns) == (kept, before)
    assert not (folder / ".report.json.abcdefgh.tmp").exists()

    view = held.status()["holdout"]
    assert (view["candidate_id"], view["seed_score"], view["best_score"]) == ("candidate-0002", 0.5, 1)
    assert (view["gain"], view["within_noise"]) == (0.5, True)  # two tasks say nothing
    assert held.next() == {"step": "done", "slot": 2}
    assert held.verify() == {**held.verify(), "ok": True, "slots": 3}
    assert "gain +0.5000 (95 % interval +0.0000 to +1.0000): within noise" in done.stdout


def test_what_it_took_is_counted(held):
    view = held.status()
    cells = [json.loads(path.read_text()) for path in held.run.glob("*/candidate-*/trials/*/attempt-*/cell.json")]
    assert view["spent"]["worker"]["calls"] == sum(cell["usage"]["calls"] for cell in cells)
    assert sum(path.is_file() for path in held.run.glob("holdout/*/trials/*/*/cell.json")) == 4
    plan = json.loads(held.shell(f"wmo-score --run {held.run} --dry-run").stdout)
    assert plan["worker"]["jobs"] == 0


def test_the_audit_reads_what_was_measured_on_them(held):
    for name, change in (
        ("trials/fix-script/attempt-1/cell.json", lambda text: text.replace('"reward": 1.0', '"reward": 0.5')),
        ("report.json", lambda text: text.replace('"doc_hash": "', '"doc_hash": "0')),
    ):
        path = held.run / "holdout/candidate-0002" / name
        whole = path.read_text()
        path.write_text(change(whole))
        assert path.read_text() != whole
        check = held.verify()
        path.write_text(whole)
        assert [problem["slot"] for problem in check["problems"]] == [2]
        assert str(path) in check["problems"][0]["problem"]
    assert held.verify()["ok"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--holdout greet,count,serve", 2, "--holdout names every task"),
        ("--tasks greet,count --holdout count", 2, "'count' is in --tasks and in --holdout"),
        ("--holdout nothing", 65, "unknown task 'nothing'"),
        ("--holdout greet,", 2, "bad --holdout 'greet,'"),
    ],
)
def test_what_cannot_be_held_out_is_refused(shell, tmp_path, options, code, said):
    done = shell(
        f"wmo-state init {tmp_path}/run --seed baseline --suite tools/wmo-score/tests/tasks --slots 1 {options}"
    )
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_keeps_to_what_it_holds_out_and_a_budget_counts_it(shell, tmp_path):
    line = f"wmo-state init {tmp_path}/run --seed baseline --suite tools/wmo-score/tests/tasks --slots 0"
    made = json.loads(shell(f"{line} --holdout serve --max-tokens 1").stdout)
    assert made["settings"]["request"]["task_ids"] == ["count", "greet"]
    other = shell(f"wmo-state init {tmp_path}/run --holdout greet")
    assert (other.returncode, "--holdout: the run has 'serve', asked is 'greet'" in other.stderr) == (78, True)
    plan = json.loads(shell(f"wmo-score --run {tmp_path}/run --dry-run").stdout)
    assert plan["worker"]["jobs"] == 3
    score = f"wmo-score --run {tmp_path}/run"
    assert shell(score).returncode == 0
    warned = shell(f"{score} --dry-run")
    [warning] = json.loads(warned.stdout)["warnings"]
    assert "the budget is reached: " in warning and "held-out tasks are not begun until it is raised" in warning
    stopped = shell(score)
    assert (stopped.returncode, "reached its budget" in stopped.stderr) == (75, True)
    assert shell(f"wmo-state init {tmp_path}/run --max-tokens never").returncode == 0
    assert json.loads(shell(score).stdout)["report"]["request"]["task_ids"] == ["serve"]
    assert json.loads(shell(f"wmo-state next {tmp_path}/run").stdout)["step"] == "done"
