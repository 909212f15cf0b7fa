"""The executable: its ready line, how it ends, and its exit codes."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).parent / "wmo-offline")


@contextmanager
def started(*arguments: str):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([PROGRAM, *arguments], text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=20, check=False)


def test_the_ready_line_is_a_document_and_the_url_answers():
    with started() as process:
        ready = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{ready['url']}/models", timeout=10) as answer:
            assert len(json.load(answer)["data"]) == 4
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
        assert process.stdout.read() == ""
        assert "simulation" in process.stderr.read()


def test_interrupt_is_130():
    with started() as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def test_with_parent_ends_with_standard_input_and_without_does_not_read_it():
    with started("--with-parent") as process, started() as other:
        process.stdout.readline()
        other.stdout.readline()
        other.stdin.close()
        process.stdin.close()
        assert process.wait(10) == 0
        assert other.poll() is None


def test_a_port_in_use_is_an_input_output_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("--port", str(taken.getsockname()[1]))
    assert result.returncode == 74
    assert "address already in use" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--port", "x"], ["--latency-ms", "-1"], ["extra"]])
def test_usage_errors_are_2(arguments):
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")


def test_help_and_version():
    text = run("--help").stdout
    assert "simulation" in text
    assert "Example:" in text
    assert run("--version").returncode == 0
