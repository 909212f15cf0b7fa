"""Trials of a harness: real node, real sandboxes, a real endpoint on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from wmo_contracts.episode import EpisodeDocument, EpisodeResult
from wmo_contracts.exchanges import ExchangesDocument
from wmo_harness.documents import to_document
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_kit.documents import read_document
from wmo_kit.errors import Missing
from wmo_score.adhoc import score_harness
from wmo_score.options import Options

PI_NODE = '[harness]\nruntime_kind = "pi-node"\nmax_turns = 7\n'


def write_harness(path: Path, files: dict[str, str]) -> Path:
    path.write_text(to_document(SourceTree.from_mapping(files), "mine").to_text())
    return path


@pytest.fixture
def endpoint(monkeypatch):
    """Give a function that serves one answer (status, JSON body) for ever, configured as the worker's model."""
    servers = []

    def serve(status: int, body: dict) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("WMO_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("WMO_MODEL", "one-answer")
        monkeypatch.setenv("WMO_API_KEY", "none")

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_evidence_of_an_episode(log, suite, tmp_path, endpoint):
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": ""}}
    call["function"]["arguments"] = json.dumps({"command": "echo hello > /app/greeting.txt"})
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    endpoint(200, {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage})
    tree = seed_tree(find_vendor_dir(None, Path(__file__)))
    files = {**tree.as_mapping(), "config.toml": PI_NODE, "SYSTEM.md": "Be brief.\n"}
    harness = write_harness(tmp_path / "h.json", files)

    document = score_harness(log, str(harness), Options(suite=suite, tasks=("greet",), keep=tmp_path / "k"))
    assert (document.candidate_id, document.score, document.simulated) == ("mine", 1.0, False)
    folder = tmp_path / "k/trials/greet/attempt-1"
    names = ["cell.json", "episode.json", "exchanges.json", "verifier", "wmo-run.json"]
    assert sorted(path.name for path in folder.iterdir()) == names

    episode = read_document(folder / "episode.json", EpisodeDocument)
    assert (episode.limits.max_turns, episode.limits.timeout_s, episode.system) == (7, 30.0, "Be brief.\n")
    assert (folder / episode.harness.path / "SYSTEM.md").read_text() == "Be brief.\n"
    assert (folder / episode.task.path).resolve() == suite / "greet"
    assert episode.model.name == "one-answer"
    result = read_document(folder / "wmo-run.json", EpisodeResult)
    assert (result.stop_reason, result.usage.calls) == ("max_turns", 7)
    assert json.loads((folder / "cell.json").read_text())["stop_reason"] == "max_turns"
    exchanges = read_document(folder / "exchanges.json", ExchangesDocument)
    assert exchanges.total == len(exchanges.exchanges) == 7
    assert exchanges.exchanges[0].new_messages[0] == {"role": "system", "content": "Be brief.\n"}
    assert exchanges.exchanges[6].reply.tool_calls[0].name == "bash"
    traces = b"".join(path.read_bytes() for path in folder.rglob("*.json"))
    assert b"127.0.0.1" not in traces
    assert b"wmo-score-" not in traces


def test_an_agent_that_does_not_load_is_a_result_and_a_warning(log, suite, tmp_path, endpoint, capsys):
    endpoint(500, {})
    harness = write_harness(tmp_path / "h.json", {"SYSTEM.md": "x\n", "config.toml": PI_NODE})
    document = score_harness(log, str(harness), Options(suite=suite, tasks=("greet",)))
    assert document.score == 0.0
    assert document.report.cells[0].note.startswith("stopped: error; not ok greeting")
    assert "mine: every trial ended in an error before the model was asked once" in capsys.readouterr().err


def test_a_written_reward_stands_though_the_agent_timed_out(log, suite, tmp_path, endpoint):
    """The agent does the task in one call, and then turns in a circle until its time is up."""
    toml = suite / "greet/task.toml"
    toml.write_text(toml.read_text().replace("[agent]\ntimeout_sec = 30.0", "[agent]\ntimeout_sec = 2.0"))
    endpoint(500, {})
    body = json.dumps({"name": "bash", "arguments": {"command": "echo hello > /app/greeting.txt"}})
    call = f"method: 'POST', headers: {{ authorization: `Bearer ${{process.env.PI_SHIM_TOKEN}}` }}, body: {body!r}"
    source = f"await fetch(`${{process.env.PI_SHIM_URL}}/tool`, {{ {call} }});\nfor (;;) {{}}\n"
    files = {"SYSTEM.md": "x\n", "config.toml": PI_NODE, "src/index.ts": source}
    harness = write_harness(tmp_path / "h.json", files)
    options = Options(suite=suite, tasks=("greet",), keep=tmp_path / "k")
    (cell,) = score_harness(log, str(harness), options).report.cells
    assert (cell.reward, cell.passed) == (1.0, True)
    result = read_document(tmp_path / "k/trials/greet/attempt-1/wmo-run.json", EpisodeResult)
    assert (result.stop_reason, result.note) == ("error", "timed out after 2 s")


def test_a_failing_model_is_no_score(log, suite, tmp_path, endpoint):
    endpoint(401, {"error": {"message": "who are you"}})
    tree = seed_tree(find_vendor_dir(None, Path(__file__)))
    harness = write_harness(tmp_path / "h.json", tree.as_mapping())
    with pytest.raises(Missing, match=r"the model failed: .*the endpoint answered 401: who are you"):
        score_harness(log, str(harness), Options(suite=suite, tasks=("greet",), keep=tmp_path / "k"))
    trials = tmp_path / "k/trials/greet"
    assert [path.name for path in trials.iterdir()] == ["attempt-1.partial"]
    partial = trials / "attempt-1.partial"
    assert sorted(path.name for path in partial.iterdir()) == ["episode.json", "exchanges.json", "wmo-run.json"]
    (exchange,) = read_document(partial / "exchanges.json", ExchangesDocument).exchanges
    assert "who are you" in exchange.failure.message


def test_a_kit_python_harness_is_scored_without_any_vendored_pi(log, suite, tmp_path, endpoint, monkeypatch):
    monkeypatch.setenv("WMO_VENDOR", str(tmp_path / "no-such-folder"))
    call = json.dumps({"tool": "bash", "arguments": {"command": "echo hello > /app/greeting.txt"}})
    message = {"role": "assistant", "content": f"I act.\n{call}"}
    endpoint(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}})
    harness = write_harness(tmp_path / "h.json", {"SYSTEM.md": "Be brief.\n"})
    document = score_harness(log, str(harness), Options(suite=suite, tasks=("greet",), keep=tmp_path / "k"))
    assert document.score == 1.0
    folder = tmp_path / "k/trials/greet/attempt-1"
    limits = read_document(folder / "episode.json", EpisodeDocument).limits
    assert (limits.max_turns, limits.max_model_calls, limits.max_env_actions) == (20, 40, 40)
    result = read_document(folder / "wmo-run.json", EpisodeResult)
    assert (result.stop_reason, result.usage.calls) == ("max_turns", 20)
    assert read_document(folder / "exchanges.json", ExchangesDocument).total == 20
