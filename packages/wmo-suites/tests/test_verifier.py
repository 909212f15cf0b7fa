"""Verifiers and oracles over real sandboxes."""

import dataclasses
from pathlib import Path

import pytest
from wmo_contracts.episode import SandboxMode
from wmo_contracts.score import CellTests
from wmo_kit.errors import BadDocument
from wmo_suites.oracle import run_oracle, solution_binds
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task, load_task
from wmo_suites.verifier import NoReward, Verdict, shared_binds, verify
from wmo_suites.workspace import copy_workspace

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "app"


def silent(workspace: Path, script: str, **changes: float) -> Task:
    """Give the task whose verifier runs `script`, with its workspace made."""
    task = dataclasses.replace(load_task(TASKS / "silent"), **changes)
    copy_workspace(task, workspace)
    (workspace / "verdict.sh").write_text(script)
    return task


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_oracle_and_nop(workspace: Path, tmp_path: Path, mode: SandboxMode) -> None:
    task = load_task(TASKS / "hello")
    copy_workspace(task, workspace)
    verdict = verify(task, workspace, tmp_path, mode=mode)
    assert (verdict.reward, verdict.tests) == (0.0, CellTests(passed=0, resolved=1, unresolved=1))
    assert run_oracle(task, workspace, mode=mode).content == "solved\n"
    verdict = verify(task, workspace, tmp_path, mode=mode)
    assert (verdict.reward, verdict.note) == (1.0, "")
    assert set(verdict.timings) == {"verifier"}
    assert (tmp_path / "verifier" / "output.txt").read_text() == "checking\nto stderr\n"
    assert (tmp_path / "verifier" / "reward.txt").read_text() == "1\n"


def test_a_failing_oracle_is_an_observation(workspace: Path, tmp_path: Path) -> None:
    task = load_task(TASKS / "hello")
    copy_workspace(task, workspace)
    (workspace / "greeting.txt").mkdir()
    seen = run_oracle(task, workspace)
    assert "Is a directory" in seen.content
    with pytest.raises(BadDocument, match=r"task 'silent' has no 'solution/solve.sh'"):
        run_oracle(load_task(TASKS / "silent"), workspace)


def test_no_reward_names_task_reason_and_output(workspace: Path, tmp_path: Path) -> None:
    task = load_task(TASKS / "silent")
    copy_workspace(task, workspace)
    with pytest.raises(NoReward) as caught:
        verify(task, workspace, tmp_path)
    assert caught.value.code == 75
    assert str(caught.value) == (
        "no reward from the verifier of task 'silent': it wrote neither 'reward.txt' nor 'reward.json'; "
        "test.sh exited with 3; its output ends with: no verdict today\n[exit code 3]"
    )
    assert (tmp_path / "verifier" / "output.txt").read_text() == "no verdict today\n[exit code 3]"


def test_a_verifier_that_hangs(workspace: Path, tmp_path: Path) -> None:
    task = silent(workspace, "sleep 100", verifier_timeout_s=0.3)
    with pytest.raises(NoReward, match=r"test\.sh timed out after 0\.3 s"):
        verify(task, workspace, tmp_path)


@pytest.mark.parametrize(
    "ending", ["exit 7", "sleep 100", "kill -9 $$"], ids=["fails afterwards", "hangs afterwards", "dies afterwards"]
)
def test_a_written_reward_stands(workspace: Path, tmp_path: Path, ending: str) -> None:
    task = silent(workspace, f"echo 0.5 > /logs/verifier/reward.txt; {ending}", verifier_timeout_s=0.5)
    verdict = verify(task, workspace, tmp_path)
    assert verdict.reward == 0.5
    assert bool(verdict.note) == ending.startswith("sleep")


def test_what_the_verifier_sees(workspace: Path, tmp_path: Path) -> None:
    script = "touch /tests/x || touch /app/y && ls /logs/verifier /solution; echo 1 > /logs/verifier/reward.txt; pwd"
    verify(silent(workspace, script), workspace, tmp_path)
    output = (tmp_path / "verifier" / "output.txt").read_text()
    assert "'/tests/x': Read-only file system" in output
    assert "'/solution': No such file" in output
    assert output.endswith("/app\n")
    assert (workspace / "y").exists()


def test_logs_are_made_fresh_and_left_tidy(workspace: Path, tmp_path: Path) -> None:
    old = tmp_path / "verifier"
    old.mkdir()
    (old / "reward.txt").write_text("1")
    secret = tmp_path / "secret"
    secret.write_text("host")
    script = (
        f"cd /logs/verifier; ls; ln -s {secret} output.txt; ln -s {secret} link; mkfifo fifo; mkdir -p d/e; "
        "echo kept > d/e/log; chmod 000 d/e/log; echo 0 > reward.txt; echo '{' > ctrf.json"
    )
    verdict = verify(silent(workspace, script), workspace, tmp_path)
    assert verdict.reward == 0
    assert verdict.note.startswith("no test counts: 'ctrf.json' is not JSON")
    names = sorted(path.relative_to(old).as_posix() for path in old.rglob("*"))
    assert names == ["ctrf.json", "d", "d/e", "d/e/log", "output.txt", "reward.txt"]
    assert (old / "output.txt").read_text() == ""
    assert oct((old / "d/e/log").stat().st_mode)[-3:] == "644"
    assert secret.read_text() == "host"


def test_a_folder_where_the_output_goes_gives_way(workspace: Path, tmp_path: Path) -> None:
    script = "mkdir -p /logs/verifier/output.txt/x; echo 1 > /logs/verifier/reward.txt; echo said"
    assert verify(silent(workspace, script), workspace, tmp_path).reward == 1
    assert (tmp_path / "verifier" / "output.txt").read_text() == "said\n"


def test_a_linked_reward_is_none(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(NoReward, match=r"'reward\.txt' is a symbolic link"):
        verify(silent(workspace, "echo 1 > /app/r; ln -s /app/r /logs/verifier/reward.txt"), workspace, tmp_path)


def shared_episode(workspace: Path, tmp_path: Path, *commands: str) -> Verdict:
    """Play an episode of the task with a shared verifier: the oracle, then `commands`, then the verifier."""
    task = load_task(TASKS / "served")
    copy_workspace(task, workspace)
    binds = (*shared_binds(task, tmp_path / "logs", tmp_path / "scratch"), *solution_binds(task))
    sandbox = Sandbox(workspace, binds=binds, limits=task.limits)
    if not commands:
        assert run_oracle(task, workspace, shared=sandbox).exit_code == 0
    for command in commands:
        assert sandbox.run(command).content == "0\n"
    verdict = verify(task, workspace, tmp_path / "logs", shared=sandbox)
    assert sandbox.run("true").content == "the sandbox is closed"
    return verdict


def test_a_shared_verifier_finds_the_running_server(workspace: Path, tmp_path: Path) -> None:
    assert shared_episode(workspace, tmp_path).reward == 1.0
    assert list((tmp_path / "scratch" / "tests").iterdir()) == []


def test_a_shared_verifier_is_not_there_before_its_time(workspace: Path, tmp_path: Path) -> None:
    peek = "ls -A /tests | wc -l"
    forge = (
        "echo 1 > /logs/verifier/reward.txt; mkdir /logs/verifier/d; chmod 000 /logs/verifier/d; touch /tests/x; echo 0"
    )
    verdict = shared_episode(workspace, tmp_path, peek, forge.replace("touch /tests/x", "touch /tests/x 2>/dev/null"))
    assert verdict.reward == 0.0


def test_a_fresh_task_needs_no_mounts(tmp_path: Path) -> None:
    assert shared_binds(load_task(TASKS / "hello"), tmp_path / "logs", tmp_path / "scratch") == ()
