"""A Provider out of the configuration, and the life and death of the offline model's private server."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from wmo_contracts.chat import ChatRequest
from wmo_kit.config import Config, Endpoint, Roles
from wmo_kit.errors import Missing
from wmo_models.endpoint import offline_server, open_provider
from wmo_models.provider import ProviderError

REQUEST = ChatRequest(
    messages=({"role": "user", "content": "hello"},), tools=({"type": "function", "function": {"name": "bash"}},)
)


def offline_children(parent: int) -> list[int]:
    """The pids of `parent`'s children that run wmo-offline."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if b"wmo-offline" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def gone(pid: int) -> bool:
    """Whether a process ends within 10 s; a zombie counts as ended."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(("role", "words"), [("worker", "Let me look around."), ("proposer", "REQUEST.md")])
def test_each_role_speaks_with_its_own_persona(role, words):
    with open_provider(Config(), role) as provider:
        assert words in provider.complete(REQUEST).content


def test_the_private_server_ends_with_the_context():
    with offline_server():
        (pid,) = offline_children(os.getpid())
        assert os.getpgid(pid) != os.getpgid(0)
    assert gone(pid)


def test_the_private_server_ends_when_the_context_is_left_by_an_error():
    with pytest.raises(RuntimeError, match="ours"), open_provider(Config(), "worker"):
        (pid,) = offline_children(os.getpid())
        raise RuntimeError("ours")
    assert gone(pid)


def test_the_private_server_dies_when_its_parent_is_killed():
    script = (
        "import time\nfrom wmo_models.endpoint import offline_server\n"
        "with offline_server():\n    print('ready', flush=True)\n    time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout.readline() == b"ready\n"
    (pid,) = offline_children(parent.pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone(pid)


def test_a_server_that_cannot_start_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(Missing, match="cannot start the offline model"), offline_server():
        pass


def test_a_server_that_dies_at_once_is_missing_and_its_words_are_told(monkeypatch, tmp_path):
    program = tmp_path / "wmo-offline"
    program.write_text("#!/bin/sh\necho no room here >&2\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(Missing, match="no room here"), offline_server():
        pass


def test_a_real_endpoint_needs_its_key(monkeypatch):
    monkeypatch.delenv("OTHER_KEY", raising=False)
    endpoint = Endpoint(base_url="http://127.0.0.1:1/v1", model="m", api_key_env="OTHER_KEY")
    config = Config(roles=Roles(worker=endpoint))
    with pytest.raises(Missing, match="OTHER_KEY"), open_provider(config, "worker"):
        pass


def test_an_unknown_model_is_refused_in_the_servers_own_words():
    config = Config(roles=Roles(worker=Endpoint(model="gpt-17")))
    with (
        open_provider(config, "worker") as provider,
        pytest.raises(ProviderError, match="'gpt-17' does not exist here"),
    ):
        provider.complete(REQUEST)
