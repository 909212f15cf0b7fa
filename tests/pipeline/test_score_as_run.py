"""`wmo-score --as RUN`: outside a run, under what the run records, whatever models are configured meanwhile."""

import json
import shutil

import pytest
from faulty_endpoint import endpoint, reply

TOML = """\
[roles.worker]
base_url = "{url}"
model = "mine"
api_key_env = "MINE"
"""
SCORE = "wmo-state best run | wmo-score -"


def submit(_number, _body):
    return reply(json.dumps({"tool": "submit", "arguments": {"answer": "done"}}))


@pytest.fixture(scope="module")
def made(shell, root, tmp_path_factory):
    """Give a folder with a scored run, whose worker on loopback is configured no more."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(root / "tools/wmo-score/tests/tasks", folder / "suite")
    with endpoint(submit) as server:
        (folder / "wmo.toml").write_text(TOML.format(url=server.url))
        init = "wmo-state init run --seed baseline --suite suite --tasks count,greet --slots 0 --attempts 2"
        done = shell(f"{init} && wmo-score --run run", cwd=folder, env={"MINE": "k"})
        assert done.returncode == 0, done.stderr
        (folder / "wmo.toml").unlink()
        yield folder


@pytest.fixture
def place(shell, root, made, tmp_path):
    """Give a function that runs a line in a copy of that folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    vendor = {"WMO_VENDOR": str(root / "vendor")}
    return lambda line, key="k": shell(line, cwd=tmp_path, env=vendor | ({"MINE": key} if key else {}))


def test_the_recorded_worker_plays_the_runs_own_tasks(place, tmp_path):
    done = place(f"{SCORE} --as run --keep kept")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    report = json.loads((tmp_path / "run/candidates/candidate-0000/report.json").read_text())
    assert (document["simulated"], document["report"]["request"]) == (False, report["request"])
    ours, theirs = (
        {json.loads(path.read_text())["request_hash"] for path in (tmp_path / folder).rglob("cell.json")}
        for folder in ("kept", "run/candidates")
    )
    assert ours == theirs
    plan = json.loads(place(f"{SCORE} --as run --dry-run").stdout)
    assert (plan["worker"]["jobs"], plan["worker"]["worst_case"]["cost"]) == (4, None)  # the offline model costs 0


@pytest.mark.parametrize(
    ("line", "key", "code", "said"),
    [
        (f"{SCORE} --as run", "", 69, "set the variable 'MINE'"),
        (f"{SCORE} --as nowhere", "k", 69, "no run in 'nowhere'"),
        (f"{SCORE} --as run --attempts 3", "k", 78, "'--attempts' says '3', but the run's record '2'"),
        (f"mv suite away && {SCORE} --as run", "k", 65, "no suite at '"),
        ("wmo-score --run run --as run", "k", 2, "leave out '--as run'"),
    ],
)
def test_what_the_record_does_not_allow_is_refused(place, line, key, code, said):
    done = place(line, key)
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True), done.stderr


@pytest.mark.parametrize("more", ["", "--dry-run"])
def test_tasks_that_changed_since_are_refused_by_name(place, tmp_path, more):
    with (tmp_path / "suite/greet/instruction.md").open("a") as file:
        file.write("Do it well.\n")
    done = place(f"{SCORE} --as run {more}")
    assert (done.returncode, done.stdout) == (78, ""), done.stderr
    assert "tasks changed since run 'run' scored its seed on them: 'greet'; " in done.stderr


def test_what_a_killed_scoring_was_working_on_goes_with_the_next(place, tmp_path):
    left = tmp_path / "kept/.work/greet.1/app"
    left.mkdir(parents=True)
    done = place(f"{SCORE} --as run --keep kept --jobs 1")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "kept/.work").exists()
