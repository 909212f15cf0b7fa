"""wmo-state as a user has it: make, extend, adopt, read and audit a run; every refusal says what to do."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from wmo_population.run_record import read_settings, write_settings

VECTORS = Path(__file__).parents[2] / "packages/wmo-population/tests/vectors"
TASKS = ("a-task", "b-task")


@pytest.fixture
def place(tmp_path):
    """A working directory with a suite of two tasks and a seed."""
    for name in TASKS:
        task = tmp_path / "suite" / name
        (task / "environment/workspace").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "task.toml").write_text('version = "1.0"\n')
        (task / "instruction.md").write_text("Do it.\n")
        (task / "tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    shutil.copytree(VECTORS / "run-complete/candidates/candidate-0000/source", tmp_path / "seed")
    return tmp_path


@pytest.fixture
def state(shell, place):
    """Run wmo-state in that directory; gives (exit code, document or None, stderr)."""

    def run(line, env=None):
        done = shell(f"wmo-state {line}", cwd=place, env=env)
        assert "Traceback" not in done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    return run


INIT = "init runs/r --seed seed --suite suite --slots 2"


def test_a_new_run_holds_the_seed_and_its_record(state, place):
    code, view, _ = state(f"{INIT} --attempts 3 --tasks b-task,a-task --reward-mode positive-binary --sandbox none")
    assert code == 0
    assert view["next"] == {"step": "score-seed", "slot": 0}
    assert view["simulated"]
    settings = view["settings"]
    assert settings["request"] == {"task_ids": ["b-task", "a-task"], "attempts": 3}
    assert settings["suite"] == "../../suite"
    assert (settings["reward_mode"], settings["sandbox"], settings["iterations"]) == ("positive-binary", "none", 2)
    files = {path.relative_to(place / "runs/r").as_posix() for path in (place / "runs/r").rglob("*") if path.is_file()}
    source = "candidates/candidate-0000/source"
    assert files == {"run.json", *(f"{source}/{name}" for name in ("SYSTEM.md", "config.toml", "src/a.ts"))}
    assert json.loads((place / "runs/r/run.json").read_text())["settings"] == settings
    assert state("next runs/r")[:2] == (0, {"step": "score-seed", "slot": 0})
    assert state("verify runs/r")[1]["ok"]


def test_the_same_call_again_changes_nothing_and_more_slots_extend(state, place):
    state(INIT)
    before = (place / "runs/r/run.json").stat().st_mtime_ns
    assert state(INIT)[0] == 0
    assert state("init runs/r")[0] == 0
    assert (place / "runs/r/run.json").stat().st_mtime_ns == before
    code, view, log = state("init runs/r --slots 5")
    assert (code, view["settings"]["iterations"]) == (0, 5)
    assert "extended from 2 to 5" in log


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ("--slots 1", ("'2'", "'1'")),
        ("--attempts 2", ("'1'", "'2'")),
        ("--tasks a-task", ("'a-task,b-task'", "'a-task'")),
        ("--reward-mode positive-binary", ("'raw'", "'positive-binary'")),
        ("--sandbox none", ("'bwrap'", "'none'")),
        ("--suite .", ("/suite'", "")),
        ("--seed other", ("'seed, tree ", "'other, tree ")),
        ("--proposer command -- claude -p", ("'pi'", "'command claude -p'")),
    ],
)
def test_a_conflicting_option_names_both_values(state, place, options, values):
    state(INIT)
    (place / "other").mkdir()
    (place / "other/SYSTEM.md").write_text("Another.")
    before = (place / "runs/r/run.json").read_bytes()
    code, view, log = state(f"init runs/r {options}")
    assert (code, view) == (78, None)
    assert all(value in log for value in values)
    assert "use a new run directory" in log
    assert (place / "runs/r/run.json").read_bytes() == before


def test_the_limit_of_rejections_is_recorded_and_only_raised(state):
    limit = "--max-consecutive-rejections"
    assert state(f"{INIT} {limit} 2")[1]["settings"]["max_consecutive_rejections"] == 2
    assert state(INIT)[1]["settings"]["max_consecutive_rejections"] == 2
    code, _, log = state(f"init runs/r {limit} 1")
    assert code == 78
    assert f"{limit}: the run has '2', asked is '1': a limit is only raised" in log
    assert state(f"init runs/r {limit} 5")[1]["settings"]["max_consecutive_rejections"] == 5
    assert state(f"init runs/r {limit} never")[1]["settings"]["max_consecutive_rejections"] is None
    assert state(f"init runs/r {limit} 9")[0] == 78
    for bad in ("0", "1.5"):
        assert state(f"init runs/r {limit} {bad}")[0] == 2


def test_a_held_run_is_its_commands_alone(state, shell, place):
    state(INIT)
    hold = "wmo-state hold runs/r --"
    done = shell(f"{hold} sh -c 'wmo-state next runs/r; wmo-state init runs/r --slots 7; exit 5'", cwd=place)
    assert (done.returncode, "extended from 2 to 7" in done.stderr) == (5, True)
    other = subprocess.Popen(
        ["bash", "-c", f"exec {Path(sys.executable).parent}/{hold} sh -c 'echo held; cat'"],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout.readline() == "held\n"
    for line in ("init runs/r", "hold runs/r -- true"):
        code, _, log = state(line)
        assert code == 75
        assert f"in use by process {other.pid} on host" in log
    assert state("status runs/r")[0] == 0
    other.communicate("")
    assert other.returncode == 0
    assert state("init runs/r")[0] == 0
    assert not [path for path in (place / "runs/r").iterdir() if path.name.startswith(".")]
    assert state("hold runs/r -- no-such-program")[0] == 69
    assert state("hold runs/none -- true")[0] == 69
    assert state("hold runs/r")[0] == 2
    assert shell(f"{hold} sh -c 'kill -9 $$'", cwd=place).returncode == 137


def test_the_recorded_model_wins_over_the_default_and_not_silently_over_another(state):
    model = {"WMO_BASE_URL": "http://localhost:9/v1", "WMO_MODEL": "m"}
    code, view, _ = state(INIT, model)
    assert (code, view["simulated"]) == (0, False)
    assert view["settings"]["worker"]["model"] == "m"
    assert state(INIT)[1]["settings"]["worker"]["model"] == "m"
    code, _, log = state(INIT, {**model, "WMO_MODEL": "other"})
    assert code == 78
    assert "'m at http://localhost:9/v1" in log
    assert "'other at http://localhost:9/v1" in log
    assert "unset WMO_BASE_URL and WMO_MODEL, or use a new run directory" in log


def test_a_key_that_is_missing_is_said_before_the_run_needs_it(state, place):
    (place / "wmo.toml").write_text(
        '[roles.worker]\nbase_url = "http://localhost:9/v1"\nmodel = "m"\napi_key_env = "WORKER_KEY"\n'
    )
    code, _, log = state(INIT)
    assert code == 0
    assert "no API key for 'http://localhost:9/v1', the worker: set the variable 'WORKER_KEY'" in log
    assert "'api_key_env = \"\"'" in log
    assert "no API key" not in state(INIT.replace("runs/r", "runs/s"), {"WORKER_KEY": "x"})[2]
    (place / "wmo.toml").write_text(
        '[roles.proposer]\nbase_url = "http://localhost:9/v1"\nmodel = "m"\napi_key_env = "PROPOSER_KEY"\n'
    )
    assert "'PROPOSER_KEY'" in state(INIT.replace("runs/r", "runs/t"))[2]
    for unneeded in (f"{INIT} --proposer command -- true", INIT.replace("--slots 2", "--slots 0")):
        assert "no API key" not in state(unneeded.replace("runs/r", f"runs/{len(unneeded)}"))[2]


@pytest.mark.parametrize(
    ("line", "env", "code", "words"),
    [
        (f"{INIT} --proposer command -- no-such-program -x", {}, 69, "no proposer command 'no-such-program'"),
        (INIT, {"WMO_BASE_URL": "notaurl", "WMO_MODEL": "m"}, 78, "the base URL 'notaurl' is unusable"),
        (INIT.replace("--seed seed", "--seed long.json"), {}, 65, "a name of 300 bytes"),
        (f"{INIT} --tasks nope", {}, 65, "unknown task 'nope'"),
        ("init runs/r --seed seed --slots 2", {}, 2, "--suite"),
    ],
)
def test_a_run_that_could_not_work_is_not_begun(state, place, line, env, code, words):
    files = [{"path": "SYSTEM.md", "content": "x"}, {"path": "a" * 300, "content": "x"}]
    (place / "long.json").write_text(json.dumps({"schema": "wmo.harness/1", "name": "long", "files": files}))
    found, view, log = state(line, env)
    assert (found, view) == (code, None)
    assert words in log
    assert not (place / "runs").exists()


def test_a_key_is_in_no_file(state, place):
    state(INIT, {"WMO_BASE_URL": "http://localhost:9/v1", "WMO_MODEL": "m", "WMO_API_KEY": "sk-secret"})
    assert not [path for path in (place / "runs").rglob("*") if path.is_file() and b"sk-secret" in path.read_bytes()]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("init runs/r --suite suite --slots 2", 2, "--seed"),
        ("init runs/r --seed seed --slots 2", 2, "--suite"),
        ("init runs/r --seed seed --suite suite", 2, "--slots"),
        ("init runs/r --seed nowhere --suite suite --slots 2", 2, "'nowhere'"),
        (f"{INIT} --proposer command", 2, "-- COMMAND"),
        (f"{INIT} stray", 2, "'stray'"),
        (f"{INIT} --tasks a-task,,", 2, "--tasks"),
        (f"{INIT} --tasks a-task,c-task", 65, "'c-task'"),
        (f"{INIT} --slots -1", 2, "--slots"),
        ("init runs/r --seed seed --suite nowhere --slots 2", 65, "nowhere"),
        ("init runs/r --seed suite --suite suite --slots 2", 65, "SYSTEM.md"),
        ("init seed --seed seed --suite suite --slots 2", 78, "holds 'SYSTEM.md'"),
        ("init seed/SYSTEM.md --seed seed --suite suite --slots 2", 2, "SYSTEM.md"),
        ("init seed/SYSTEM.md/run --seed seed --suite suite --slots 2", 74, "SYSTEM.md"),
        ("status runs/nowhere", 69, "wmo-state init"),
        ("next runs/nowhere", 69, "wmo-state init"),
        ("verify runs/nowhere", 69, "wmo-state init"),
        ("best runs/nowhere", 69, "wmo-state init"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_leaves_no_run(state, place, line, code, words):
    found, document, log = state(line)
    assert (found, document) == (code, None)
    assert words in log
    assert not (place / "runs/r/run.json").exists()


def test_a_seed_that_is_a_document_comes_through_a_pipe(shell, place):
    line = "wmo-materialize --snapshot seed | wmo-state init runs/r --seed - --suite suite --slots 1"
    done = shell(line, cwd=place)
    assert done.returncode == 0
    assert json.loads(done.stdout)["settings"]["seed"] == "-"


def test_a_run_without_scores_has_no_best(state):
    state(INIT)
    code, document, log = state("best runs/r")
    assert (code, document) == (1, None)
    assert "nothing is scored yet" in log


@pytest.fixture
def reference(place):
    """A copy of a run that the reference left."""

    def copy(name):
        shutil.copytree(VECTORS / name, place / name)
        return place / name

    return copy


def test_a_run_of_the_reference_is_read(state, reference, shell, place):
    reference("run-complete")
    code, view, _ = state("status run-complete")
    assert (code, view["settings"], view["best"]["candidate_id"]) == (0, None, "candidate-0000")
    assert [outcome["kind"] for outcome in view["outcomes"]] == ["scored", "scored", "invalid", "scored", "scored"]
    code, check, _ = state("verify run-complete")
    assert (code, check["ok"], check["slots"], check["problems"]) == (0, True, 5, [])
    assert [note.split(":")[0] for note in check["unchecked"]][:2] == ["slots 0, 1, 3, 4", "slots 1, 2, 3, 4"]
    best = shell("wmo-state best run-complete | wmo-materialize --into best", cwd=place)
    assert best.returncode == 0
    assert (place / "best/SYSTEM.md").read_bytes() == (place / "seed/SYSTEM.md").read_bytes()


def test_a_run_of_the_reference_is_adopted_with_its_own_request_and_mode(state, reference, evidence):
    run = reference("run-pending")
    before = evidence(run)
    code, view, log = state("init run-pending --seed seed --suite suite --slots 4")
    assert code == 0
    assert "adopted" in log
    assert view["settings"]["request"] == {"task_ids": ["b-task", "a-task"], "attempts": 2}
    assert view["settings"]["reward_mode"] == "positive-binary"
    assert view["next"] == {"step": "score", "slot": 4}
    assert evidence(run) == {**before, "run.json": evidence(run)["run.json"]}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--suite suite", 2, "--slots"),
        ("--suite suite --slots 2", 78, "3 slots after the seed, but only 2"),
        ("--suite suite --slots 4 --reward-mode raw", 78, "'positive-binary', asked is 'raw'"),
        ("--suite suite --slots 4 --attempts 1", 78, "'2', asked is '1'"),
        ("--suite small --slots 4", 78, "'b-task'"),
        ("--suite suite --slots 4 --judge", 78, "--judge: the run's scores were given by verifiers"),
        ("--suite suite --slots 4 --env world-model --judge", 78, "were given by verifiers in real sandboxes"),
        ("--suite suite --slots 4 --env world-model", 78, "--env world-model: the run's scores were given"),
    ],
)
def test_adopting_refuses_what_the_run_contradicts(state, reference, place, options, code, words):
    run = reference("run-pending")
    shutil.copytree(place / "suite/a-task", place / "small/a-task")
    found, _, log = state(f"init run-pending {options}")
    assert found == code
    assert words in log
    assert not (run / "run.json").exists()


@pytest.mark.parametrize("garbage", [b"[]", b"\xff", b'{"outcomes": [{"slot": true}]}'])
def test_a_state_that_is_none_is_named(state, reference, garbage):
    run = reference("run-complete")
    (run / "state.json").write_bytes(garbage)
    for command, code in (("status", 65), ("next", 65), ("best", 65), ("verify", 1)):
        found, _, log = state(f"{command} run-complete")
        assert found == code, command
        assert "run-complete/state.json" in log


def test_verify_lists_every_problem(state, reference):
    run = reference("run-complete")
    (run / "candidates/candidate-0001/source/SYSTEM.md").write_text("Edited.")
    (run / "candidates/candidate-0003/report.json").unlink()
    code, check, log = state("verify run-complete")
    assert code == 1
    assert [problem["slot"] for problem in check["problems"]] == [1, 3]
    assert "slot 3" in log
    assert state("status run-complete")[0] == 65


def test_a_run_in_use_is_not_touched(state, place):
    state(INIT)
    hold = f"""
from pathlib import Path
from wmo_population.lock import RunLock
with RunLock(Path({str(place / "runs/r")!r})):
    print("held", flush=True)
    input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        code, _, log = state(f"{INIT} --slots 3")
        assert code == 75
        assert f"process {holder.pid} on host" in log
        assert state("status runs/r")[0] == 0  # reading needs no lock
        holder.communicate("\n")
    assert state(f"{INIT} --slots 3")[0] == 0


# --- what the box of a proposer's command opens


COMMAND = f"{INIT} --proposer command"


def test_what_a_proposer_may_have_is_recorded_by_name_and_shown(state, place):
    env = {"HOME": str(place), "MY_KEY": "sk-secret"}
    (place / "tools").mkdir()
    code, view, _ = state(f"{COMMAND} --allow env:MY_KEY --allow 'read:~/tools' --allow network -- true", env)
    assert code == 0
    wanted = ["env:MY_KEY", "network", f"read:{place}/tools"]
    assert view["settings"]["proposer"] == {"kind": "command", "argv": ["true"], "allow": wanted}
    assert "sk-secret" not in (place / "runs/r/run.json").read_text()
    assert state("init runs/r")[1]["settings"]["proposer"]["allow"] == wanted
    code, view, log = state("init runs/r --allow network")
    assert (code, view["settings"]["proposer"]["allow"]) == (0, ["network"])
    assert "what the proposer's box opens, now network" in log
    assert state("init runs/r --allow read:/ ")[0] == 2
    assert state("status runs/r")[1]["settings"]["proposer"]["allow"] == ["network"]


def test_a_record_without_allow_stays_valid_and_opens_nothing(state, place):
    state(f"{COMMAND} -- true")
    record = place / "runs/r/run.json"
    document = json.loads(record.read_text())
    del document["settings"]["proposer"]["allow"], document["settings"]["consent"], document["settings_hash"]
    record.write_text(json.dumps(document))
    code, view, _ = state("init runs/r --proposer command -- true")
    assert (code, view["settings"]["proposer"]["allow"]) == (0, [])


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"{INIT} --allow network", 2, "only the box of '--proposer command' can be opened"),
        (f"{COMMAND} --sandbox none --allow network -- true", 2, "there is no box to open"),
        (f"{COMMAND} --allow everything -- true", 2, "say network, env:NAME, read:PATH or write:PATH"),
        (f"{COMMAND} --allow env:A=b -- true", 2, "bad --allow 'env:A=b'"),
        (f"{COMMAND} --allow read:tools -- true", 2, "the path must be absolute"),
        (f"{COMMAND} --allow read:/nowhere -- true", 2, "there is nothing at '/nowhere'"),
        (f"{COMMAND} --allow read:/usr/../etc -- true", 2, "without '..'"),
        (f"{COMMAND} --allow read:/ -- true", 2, "the whole machine is never opened"),
        (f"{COMMAND} --allow read:/proc/self/environ -- true", 2, "a box has its own"),
        (f"{COMMAND} --allow read:{{place}} -- true", 2, "it would open '{place}"),
        (f"{COMMAND} --allow write:{{place}}/suite/a-task/tests -- true", 2, "it would open '{place}/suite"),
        (f"{COMMAND} --allow read:{{place}}/elsewhere -- true", 2, "it would open '{place}/suite"),
        (f"{COMMAND} -- {{place}}/agent", 69, "add '--allow read:{place}/agent'"),
    ],
)
def test_what_cannot_be_opened_makes_no_run(state, place, line, code, words):
    (place / "elsewhere").symlink_to(place / "suite/a-task")
    (place / "agent").write_text("#!/bin/sh\n")
    (place / "agent").chmod(0o755)
    found, view, log = state(line.format(place=place))
    assert (found, view) == (code, None)
    assert words.format(place=place) in log
    assert not (place / "runs").exists()


def test_a_script_that_the_box_does_not_show_is_warned_of(state, place):
    (place / "agent.py").write_text("")
    line = f"{COMMAND} -- sh {place}/agent.py"
    assert f"needs '--allow read:{place}/agent.py'" in state(line)[2]
    assert (
        "needs"
        not in state(line.replace("runs/r", "runs/s").replace("-- sh", f"--allow read:{place}/agent.py -- sh"))[2]
    )


# --- consent to a real model without a sandbox


REAL = {"WMO_BASE_URL": "http://127.0.0.1:9/v1", "WMO_MODEL": "m", "WMO_API_KEY": "k"}


def test_a_real_model_without_a_sandbox_needs_consent_which_is_recorded(state, place):
    code, view, log = state(f"{INIT} --sandbox none", REAL)
    assert (code, view) == (2, None)
    assert "add '--yes'" in log
    assert not (place / "runs").exists()
    code, view, _ = state(f"{INIT} --sandbox none --yes", REAL)
    assert (code, view["settings"]["consent"]) == (0, True)
    assert state("init runs/r", REAL)[0] == 0
    assert state(f"{INIT.replace('runs/r', 'runs/s')} --sandbox none")[1]["settings"]["consent"] is False


def test_an_old_run_without_consent_is_asked_once(state, shell, place):
    state(f"{INIT} --sandbox none --yes", REAL)
    settings = read_settings(place / "runs/r")
    write_settings(place / "runs/r", settings.model_copy(update={"consent": False}))
    done = shell("wmo-score --run runs/r", cwd=place, env=REAL)
    assert (done.returncode, done.stdout) == (2, "")
    assert "runs/r --yes' does, and records it" in done.stderr
    assert state("init runs/r", REAL)[0] == 2
    code, view, log = state("init runs/r --yes", REAL)
    assert (code, view["settings"]["consent"]) == (0, True)
    assert "your consent" in log


@pytest.mark.parametrize(("answer", "code", "made"), [("y", 0, True), ("n", 1, False)])
def test_on_a_terminal_consent_is_a_question(place, answer, code, made):
    """script(1) would do, but is not everywhere: a pseudo-terminal of our own, whose other end types the answer."""
    ours, theirs = pty.openpty()
    argv = [Path(sys.executable).parent / "wmo-state", *INIT.split(), "--sandbox", "none"]
    process = subprocess.Popen(
        argv, cwd=place, env={**os.environ, **REAL}, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(ours, 4096)
    os.write(ours, answer.encode() + b"\n")
    process.communicate(timeout=30)
    os.close(ours)
    assert process.returncode == code
    assert b"runs as you" in said
    assert (place / "runs/r/run.json").exists() is made


def test_a_run_that_was_moved_is_told_where_its_suite_is(state, place):
    assert state(INIT)[0] == 0
    shutil.move(place / "runs/r", place / "away")
    code, _, log = state("init away")
    assert (code, "no suite at" in log, "'wmo-state init away --suite DIR'" in log) == (65, True, True)
    shutil.copytree(place / "suite", place / "part")
    shutil.rmtree(place / "part/b-task")
    code, _, log = state("init away --suite part")
    assert (code, "'part' has no task 'b-task'" in log) == (78, True)
    code, document, log = state("init away --suite suite")
    assert (code, document["settings"]["suite"]) == (0, "../suite"), log
    assert "as recorded, but for the place of --suite" in log
    shutil.copytree(place / "suite", place / "copy")
    assert state("init away --suite copy")[0] == 78  # the recorded one is there
