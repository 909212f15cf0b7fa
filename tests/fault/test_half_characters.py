"""Half a character from the model, through real pi to the evidence: nothing of it stops a scoring or wedges a run."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
TASKS = Path(__file__).parents[2] / "tools/wmo-score/tests/tasks"
HALF = "\ud83d"


def message(name, **arguments):
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"choices": [{"message": {"content": HALF, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}


TURNS = [
    (200, message("bash", command=f"echo hello > /app/greeting.txt; echo {HALF}")),
    (200, message("write_file", path="/app/half", content=HALF)),
    (200, message(f"{HALF}", **{HALF: HALF})),
    (200, message("submit", answer=HALF)),
]


@pytest.fixture
def endpoint():
    """Give the base URL of a model that plays TURNS, or answers a request for "refused" with an error of its kind."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = sum(said["role"] == "assistant" for said in request["messages"])
            refused = (401, {"error": {"message": f"no {HALF}"}})
            status, body = refused if request["model"] == "refused" else TURNS[min(turn, len(TURNS) - 1)]
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def score(endpoint, model, keep):
    env = os.environ | {"WMO_BASE_URL": endpoint, "WMO_MODEL": model, "WMO_API_KEY": "none"}
    seed = subprocess.run([BIN / "wmo-vendor", "tree"], capture_output=True, check=True).stdout
    argv = [BIN / "wmo-score", "-", "--suite", TASKS, "--task", "greet", "--keep", keep]
    return subprocess.run(argv, input=seed, env=env, capture_output=True, check=False)


def test_an_episode_of_half_characters_is_scored_and_read_back(endpoint, tmp_path):
    for _ in range(2):
        done = score(endpoint, "half", tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    assert b"1 of 1 trials are kept" in done.stderr
    result = json.loads((tmp_path / "trials/greet/attempt-1/wmo-run.json").read_text())
    assert (result["stop_reason"], result["answer"]) == ("submitted", "\ufffd")
    assert result["steps"][0]["action"]["arguments"]["command"].endswith("echo \ufffd")
    assert result["steps"][1]["action"]["arguments"]["content"] == "\ufffd"


def test_an_endpoints_error_of_half_characters_is_its_own_failure(endpoint, tmp_path):
    done = score(endpoint, "refused", tmp_path)
    assert done.returncode in (69, 75)
    assert "no \ufffd" in done.stderr.decode()
    assert (tmp_path / "trials/greet/attempt-1.partial/wmo-run.json").is_file()
