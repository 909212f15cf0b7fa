"""Trials played again by wmo-shim --replay, as a person who debugs one would: real pi, real sandboxes, no model."""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

NO_MODEL = {"WMO_BASE_URL": "http://127.0.0.1:9/v1", "WMO_MODEL": "none", "WMO_API_KEY": "none"}
PASSING, FAILING = "fix-script", "csv-repair"
GATE = "packages/wmo-models/src/wmo_models/offline/commands/submit-gate.sh"
KIT = '[harness]\nruntime_kind = "kit-python"\n'


@pytest.fixture(scope="module")
def kept(shell, root, tmp_path_factory) -> Path:
    """Two trials of pi, one that passes and one whose replies are cut at a low output limit, on tasks of our own."""
    place = tmp_path_factory.mktemp("replay")
    for task in (PASSING, FAILING):
        shutil.copytree(root / "suites/starter" / task, place / "suite" / task)
    score(shell, place, "wmo-vendor tree", PASSING, "passing")
    low = place / "low"
    assert shell(f"wmo-vendor tree | wmo-materialize --into {low}").returncode == 0
    (low / "config.toml").write_text('[harness]\nruntime_kind = "pi-node"\nmax_output_tokens = 60\n')
    score(shell, place, f"wmo-materialize --snapshot {low}", FAILING, "failing")
    return place


def score(shell, place, harness, task, name) -> Path:
    done = shell(f"{harness} | wmo-score - --suite {place}/suite --task {task} --keep {place}/{name}")
    assert done.returncode == 0, done.stderr
    return place / name / "trials" / task / "attempt-1"


@pytest.fixture(scope="module")
def passing(kept) -> Path:
    return kept / "passing/trials" / PASSING / "attempt-1"


@pytest.fixture
def replay(shell):
    """Give a function that replays a trial with no model at hand: exit code, result, stderr."""

    def run(trial, options="", env=None):
        done = shell(f"wmo-shim --replay {trial} {options}", env=NO_MODEL if env is None else env)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    return run


@pytest.fixture
def edited(passing, tmp_path):
    """Give a function that edits a file of a copy of the passing trial's harness, and gives the copy."""

    def edit(name, change) -> Path:
        source = tmp_path / "candidate"
        shutil.copytree(passing / "../../../source", source)
        (source / name).write_text(change((source / name).read_text()))
        return source

    return edit


def read(trial):
    result = json.loads((trial / "wmo-run.json").read_text())
    return {key: value for key, value in result.items() if key not in ("timings", "replay")}


@pytest.mark.parametrize("tools", ["", "--tools recorded"])
def test_a_passing_trial_gives_the_same_result(passing, replay, tools):
    code, result, words = replay(passing, tools)
    turns = json.loads((passing / "exchanges.json").read_text())["total"]
    assert (code, words) == (0, f"wmo-shim: as recorded: all {turns} completions and the result\n")
    assert {key: value for key, value in result.items() if key not in ("timings", "replay")} == read(passing)
    assert (result["stop_reason"], result["replay"]["outcome"], result["replay"]["served"]) == (
        "submitted",
        "same",
        turns,
    )


def test_so_does_a_failing_one(kept, replay):
    trial = kept / "failing/trials" / FAILING / "attempt-1"
    assert json.loads((trial / "cell.json").read_text())["cell"]["passed"] is False
    code, result, words = replay(trial)
    assert (code, result["replay"]["outcome"]) == (0, "same"), words
    assert result["stop_reason"] == read(trial)["stop_reason"] != "submitted"


def test_an_edited_prompt_is_told_at_turn_1(passing, replay, edited):
    source = edited("SYSTEM.md", lambda text: f"{text}\nBe brief.\n")
    code, result, words = replay(passing, f"--source {source}")
    assert (code, result["stop_reason"], result["usage"]["calls"]) == (1, "provider_error", 0)
    replayed = result["replay"]
    assert (replayed["outcome"], replayed["turn"], replayed["served"]) == ("other_request", 1, 0)
    assert "wmo-shim: turn 1: the harness asks something else than recorded: system prompt: line " in words
    assert "Be brief." in words


def test_edited_settings_are_told_at_turn_1(passing, replay, edited):
    harness = 'runtime_kind = "pi-node"\ntemperature = 0.1\nmax_output_tokens = 77\ntools = ["bash", "submit"]\n'
    source = edited("config.toml", lambda _text: f"[harness]\n{harness}")
    code, result, _ = replay(passing, f"--source {source}")
    assert (code, result["replay"]["turn"]) == (1, 1)
    told = " ".join(result["replay"]["differences"])
    assert "temperature: recorded 0.7, now 0.1" in told
    assert "max_tokens: recorded 4096, now 77" in told
    assert "tools no longer offered: read_file, write_file" in told


def test_an_edited_loop_is_told_at_the_turn_where_it_first_matters(shell, root, passing, replay, edited):
    source = edited("src/agent-loop.ts", lambda text: text)
    assert "edited" in shell(f"bash {root / GATE}", cwd=source.parent).stdout
    turns = json.loads((passing / "exchanges.json").read_text())["total"]
    code, result, words = replay(passing, f"--source {source}")
    replayed = result["replay"]
    assert (code, replayed["outcome"], replayed["turn"], replayed["served"]) == (1, "record_ended", turns + 1, turns)
    assert f"turn {turns + 1}: asked for another completion, but the record ends after {turns}" in words

    source.rename(source.with_name("gate"))
    source = edited("src/agent-loop.ts", lambda text: text.replace("isError: true", "isError: false", 1))
    assert replay(passing, f"--source {source}")[0] == 0  # an edit that does not matter to this trial


def test_real_tools_meet_the_workspace_recorded_ones_the_record(kept, passing, replay, tmp_path):
    trial = tmp_path / "candidate/trials" / PASSING / "attempt-1"
    shutil.copytree(passing, trial)
    shutil.copytree(kept / "passing/source", tmp_path / "candidate/source")
    episode = json.loads((trial / "episode.json").read_text())
    shutil.copytree(kept / "suite" / PASSING, tmp_path / "task")
    (tmp_path / "task/environment/workspace/extra.txt").write_text("new\n")
    episode["task"]["path"] = str(tmp_path / "task")
    (trial / "episode.json").write_text(json.dumps(episode))
    code, result, words = replay(trial)
    assert (code, result["replay"]["outcome"]) == (1, "other_request"), words
    assert "(tool): " in result["replay"]["differences"][0]
    assert "extra.txt" in words
    shutil.rmtree(tmp_path / "task")
    assert replay(trial, "--tools recorded")[0] == 0


def test_a_trial_whose_model_failed_fails_again_in_the_same_way(shell, kept, replay):
    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b'{"error": {"message": "no such key"}}'
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**NO_MODEL, "WMO_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"}
        line = f"wmo-vendor tree | wmo-score - --suite {kept}/suite --task {PASSING} --keep {kept}/refused"
        assert shell(line, env=env).returncode == 69
        server.shutdown()
    trial = kept / "refused/trials" / PASSING / "attempt-1.partial"
    code, result, words = replay(trial)
    assert (code, result["replay"]["outcome"]) == (0, "same"), words
    assert (result["stop_reason"], result["model_fault"]) == ("provider_error", "endpoint")
    assert "no such key" in result["note"]


def test_a_kit_python_trial_plays_again_too(shell, kept, replay, tmp_path):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit/SYSTEM.md").write_text("Act.\n")
    (tmp_path / "kit/config.toml").write_text(KIT)
    trial = score(shell, kept, f"wmo-materialize --snapshot {tmp_path / 'kit'}", PASSING, "kit")
    code, result, words = replay(trial)
    assert (code, result["replay"]["outcome"]) == (0, "same"), words
    assert result["usage"]["calls"] > 0


def test_what_is_no_trial_is_refused(shell, passing, tmp_path):
    done = shell(f"wmo-shim --replay {tmp_path}")
    assert (done.returncode, done.stdout) == (69, "")
    assert "episode.json': name the folder of a trial" in done.stderr
    for options in ("", f"--replay {passing} --episode x.json", "--episode x.json --tools real"):
        assert shell(f"wmo-shim {options}").returncode == 2
    shutil.copytree(passing, tmp_path / "trial")
    exchanges = json.loads((tmp_path / "trial/exchanges.json").read_text())
    exchanges["exchanges"][0]["digest"] = "0"
    (tmp_path / "trial/exchanges.json").write_text(json.dumps(exchanges))
    done = shell(f"wmo-shim --replay {tmp_path / 'trial'} --source {passing / '../../../source'}")
    assert (done.returncode, done.stdout) == (65, "")
    assert "turn 1 is damaged" in done.stderr
