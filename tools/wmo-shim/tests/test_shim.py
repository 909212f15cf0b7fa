"""The real executable: offline model, sandbox, node."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from processes import alive, descendants
from processes import wait_until as waiting
from silent_model import silent_model
from wmo_contracts.episode import EpisodeResult, ModelRef
from wmo_episode.documents import episode_document
from wmo_harness.baseline import baseline_tree
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.surfaces import parse_tree
from wmo_harness.tree_io import write_tree
from wmo_suites.task import load_task

SHIM = Path(sys.executable).with_name("wmo-shim")
VENDOR = find_vendor_dir(None, Path(__file__))
AGENT = ["--", "node", "--experimental-strip-types", "entry.ts"]


@pytest.fixture
def episode(tmp_path):
    """Gives the path of an episode document beside its harness and its task."""
    task = tmp_path / "task-one"
    files = {
        "task.toml": "[agent]\ntimeout_sec = 60\n",
        "instruction.md": "Say how many rows data.csv has.",
        "environment/workspace/data.csv": "a\nb\n",
        "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    }
    for name, text in files.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    tree = seed_tree(VENDOR)
    write_tree(tree, tmp_path / "source")
    document = episode_document(
        parse_tree(tree),
        tree,
        load_task(task),
        harness_path="source",
        task_path="task-one",
        model=ModelRef(name="offline-worker"),
    )
    path = tmp_path / "episode.json"
    path.write_text(document.to_text())
    return path


def environ(**extra):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("WMO_")}
    return clean | {"WMO_VENDOR": str(VENDOR)} | extra


def run(*arguments, cwd="/", stdin=None, **extra):
    argv = [SHIM, *map(str, arguments)]
    return subprocess.run(
        argv, cwd=cwd, env=environ(**extra), input=stdin, capture_output=True, text=True, timeout=90, check=False
    )


def change(path, **keys):
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | keys))


def test_a_command_plays_the_agent_from_anywhere(episode):
    done = run("--episode", episode, *AGENT)
    assert (done.returncode, done.stderr) == (0, "")
    result = EpisodeResult.model_validate_json(done.stdout)
    assert result.task_id == "task-one"
    assert result.usage.calls >= 1
    assert result.timings["total"] > 0


def test_a_kit_python_harness_is_played_by_python(episode, tmp_path):
    (tmp_path / "baseline").mkdir()
    tree = baseline_tree()
    write_tree(tree, tmp_path / "baseline" / "source")
    task = load_task(tmp_path / "task-one")
    model, paths = ModelRef(name="offline-worker"), {"harness_path": "source", "task_path": "../task-one"}
    document = episode_document(parse_tree(tree), tree, task, model=model, **paths)
    path = tmp_path / "baseline" / "episode.json"
    path.write_text(document.to_text())
    done = run("--episode", path, "--", "python3", "-s", "-m", "kit_python", WMO_VENDOR=str(tmp_path / "none"))
    result = json.loads(done.stdout)
    assert (done.returncode, result["stop_reason"]) == (0, "submitted")
    assert result["steps"][0]["action"]["arguments"] == {"command": "ls"}
    listing = run("--episode", path, "--", "sh", "-c", 'test "$(echo *)" = "harness kit_python" || exit 9')
    assert json.loads(listing.stdout)["stop_reason"] == "max_turns"


def test_any_program_can_be_the_agent_and_sees_no_key(episode):
    names = "compile-cache entry.ts harness node_modules package.json shim_fetch.ts termination.ts warm_up.ts"
    script = f'test -z "$WMO_API_KEY" && test "$(echo *)" = "{names}"'
    done = run("--episode", episode, "sh", "-c", script, WMO_API_KEY="sk-secret")
    result = json.loads(done.stdout)
    assert (done.returncode, result["stop_reason"], result["note"]) == (
        0,
        "max_turns",
        "the agent's process ended without /done",
    )


class ByHand:
    """wmo-shim without a command, and a person with an HTTP client."""

    def __init__(self, episode, *options):
        self.process = subprocess.Popen(
            [SHIM, "--episode", episode, *options],
            cwd="/",
            env=environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.line = self.process.stderr.readline()

    def ask(self, url, token, route, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + route, data, {"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.loads(response.read())

    def end(self):
        stdout, stderr = self.process.communicate(timeout=30)
        return self.process.returncode, json.loads(stdout), stderr


@pytest.fixture
def by_hand(episode):
    started = []

    def start(*options):
        started.append(ByHand(episode, *options))
        return started[-1]

    yield start
    for hand in started:
        hand.process.kill()
        hand.process.wait()


def test_a_person_plays_the_agent_by_hand(by_hand):
    hand = by_hand()
    ready = re.fullmatch(r"wmo-shim: ready (http://127\.0\.0\.1:\d+) token=(\S+)\n", hand.line)
    url, token = ready.groups()
    assert hand.ask(url, token, "/task")["instruction"] == "Say how many rows data.csv has."
    command = {"name": "bash", "arguments": {"command": "pwd; wc -l < data.csv"}}
    assert hand.ask(url, token, "/tool", command) == {"content": "/app\n2\n", "is_error": False}
    chat = {"messages": [{"role": "user", "content": "hi"}]}
    assert hand.ask(url, token, "/v1/chat/completions", chat)["choices"]
    assert hand.ask(url, token, "/signal")["provider_error"] is None
    hand.ask(url, token, "/done", {"answer": "2", "reason": "submit"})
    code, result, stderr = hand.end()
    assert (code, stderr) == (0, "")
    assert (result["schema"], result["stop_reason"], result["answer"]) == ("wmo.episode-result/1", "submitted", "2")
    assert [step["observation"]["content"] for step in result["steps"]] == ["/app\n2\n"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_serving_with_a_result(by_hand, number, code):
    hand = by_hand("--log-json")
    ready = json.loads(hand.line)
    assert ready["event"] == "ready"
    hand.ask(ready["url"], ready["token"], "/tool", {"name": "bash", "arguments": {"command": "sleep 1000 &"}})
    hand.process.send_signal(number)
    found, result, _ = hand.end()
    assert found == code
    assert (result["stop_reason"], result["note"]) == ("error", "the episode was stopped before /done")
    assert result["turns"] == 2


def test_killing_the_shim_leaves_no_process(episode):
    marker, folder = "sleep 86399.25", environ(TMPDIR=str(episode.parent))  # what it leaves goes with the test
    shim = subprocess.Popen([SHIM, "--episode", episode, "sh", "-c", f"{marker}; true"], cwd="/", env=folder)
    wait_until(lambda: running(marker))
    shim.kill()
    shim.wait()
    wait_until(lambda: not running(marker))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_agent_with_what_there_is_of_the_episode(episode, number, code):
    change(episode, model={"name": "silent", "role": "worker"})
    with silent_model() as (address, asked):
        env = environ(WMO_BASE_URL=address, WMO_MODEL="silent", WMO_API_KEY="none", TMPDIR=str(episode.parent))
        argv = [SHIM, "--episode", episode, *AGENT]
        shim = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        waiting(asked.is_set, shim)
        below = descendants(shim.pid)
        shim.send_signal(number)
        shim.send_signal(signal.SIGINT)
        try:
            output, words = shim.communicate(timeout=30)
        finally:
            shim.kill()
    assert shim.returncode in (code, 130), words
    assert alive(below) == []
    result = EpisodeResult.model_validate_json(output)
    assert [step.observation.content for step in result.steps] == ["so far\n", "the episode was stopped before /done"]
    assert sorted(path.name for path in episode.parent.iterdir()) == ["episode.json", "source", "task-one"]


def running(marker):
    """Say whether a process has `marker` in its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().replace(b"\0", b" ").startswith(marker.encode()):
                return True
    return False


def wait_until(holds):
    """Wait up to half a minute."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("it did not happen")


def test_the_original_workspace_is_left_alone(episode):
    script = (
        "const body = JSON.stringify({ name: 'write_file', arguments: { path: 'data.csv', content: 'gone' } });"
        "const headers = { authorization: `Bearer ${process.env.PI_SHIM_TOKEN}` };"
        "await fetch(`${process.env.PI_SHIM_URL}/tool`, { method: 'POST', headers, body });"
    )
    done = run("--episode", episode, "--", "node", "--input-type=module", "-e", script)
    assert json.loads(done.stdout)["steps"][0]["action"]["name"] == "write_file"
    workspace = episode.parent / "task-one" / "environment" / "workspace"
    assert (workspace / "data.csv").read_text() == "a\nb\n"


def test_an_episode_without_a_task_folder_has_an_empty_workspace(episode):
    change(episode, task={"id": "free", "instruction": "Look around."})
    done = run("--episode", "-", *AGENT, cwd=episode.parent, stdin=episode.read_text())
    assert json.loads(done.stdout)["task_id"] == "free"


def test_a_harness_that_changed_is_refused(episode):
    (episode.parent / "source" / "SYSTEM.md").write_text("other")
    done = run("--episode", episode, *AGENT)
    assert (done.returncode, done.stdout) == (65, "")
    assert "tree_hash" in done.stderr


def test_another_model_than_the_documents_is_a_conflict(episode):
    change(episode, model={"name": "gpt-x", "role": "worker"})
    done = run("--episode", episode, *AGENT)
    assert done.returncode == 78
    assert "'gpt-x'" in done.stderr
    assert "'offline-worker'" in done.stderr


def test_what_is_no_episode_is_refused(tmp_path):
    path = tmp_path / "e.json"
    path.write_text('{"schema": "wmo.harness/1"}')
    assert run("--episode", path).returncode == 65
    assert run().returncode == 2


def test_help_shows_how_to_be_the_agent():
    done = run("--help")
    assert done.returncode == 0
    assert "curl" in done.stdout
