"""The frame: every way to end has its exit code, and stdout stays a document."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, time, os
import click
from wmo_kit.cli import common_options, entry
from wmo_kit import errors

@click.command(name="wmo-state")
@click.argument("how")
@common_options("wmo-state")
@click.pass_obj
def command(log, how):
    if how == "sleep":
        try:
            print("ready", flush=True)
            time.sleep(30)
        finally:
            time.sleep(0.5)
            print("cleaned", flush=True)
    if how == "flood":
        for _ in range(100000):
            print("x" * 100)
    if how == "disk":
        open("/nonexistent/x")
    if how == "full":
        with open("/dev/full", "w") as file:
            file.write("x")
    if how == "document":
        from wmo_kit.documents import print_text

        print_text("{}")
    if how == "read":
        from wmo_contracts.harness import HarnessDocument
        from wmo_kit.documents import read_document

        read_document("-", HarnessDocument)
    if how == "open":
        with open("/dev/null") as file:
            log.say("opened", f"descriptor {file.fileno()}")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "Terminated":
        raise errors.Terminated()
    if how == "bug":
        raise RuntimeError("surprise")
    if hasattr(errors, how):
        raise getattr(errors, how)(f"'{how}' happened")

entry(command, goes_on=lambda options: options["how"] == "sleep")()
"""


def run(*args):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *args], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("nothing", 0),
        ("Negative", 1),
        ("Usage", 2),
        ("BadDocument", 65),
        ("Missing", 69),
        ("bug", 70),
        ("CannotWrite", 74),
        ("disk", 74),
        ("full", 74),
        ("Transient", 75),
        ("Locked", 75),
        ("Conflict", 78),
    ],
)
def test_exit_codes(how, code):
    done = run(how)
    assert done.returncode == code
    assert done.stdout == ""
    assert ("Traceback" in done.stderr) == (how == "bug")


def test_a_disk_error_is_one_line_with_the_file_and_what_to_do():
    line = run("disk").stderr
    assert line.splitlines() == [
        "wmo-state: input/output failed: '/nonexistent/x': no such file or directory: "
        "it was removed or never made: restore it or name another path, then run the same command again"
    ]


def test_a_document_that_stdout_cannot_take_is_74():
    done = subprocess.run(
        f'{sys.executable} -c "$PROGRAM" document > /dev/full',
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PROGRAM": PROGRAM},
        check=False,
    )
    assert done.returncode == 74
    assert done.stderr == (
        "wmo-state: input/output failed: '<stdout>': no space left on device: "
        "free space there, then run the same command again\n"
    )


@pytest.mark.parametrize(("how", "code"), [("document", 0), ("Conflict", 78), ("disk", 74), ("bug", 70)])
def test_words_that_stderr_cannot_take_change_no_exit_code(how, code):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, stderr=full, check=False)
    assert done.returncode == code


def test_usage_errors_are_2_and_show_the_usage():
    done = run()
    assert done.returncode == 2
    assert "Usage:" in done.stderr


def test_log_json_turns_stderr_into_json_lines():
    line = json.loads(run("Conflict", "--log-json").stderr)
    assert line == {"event": "error", "tool": "wmo-state", "message": "'Conflict' happened", "code": 78}


def test_a_closed_pipe_is_141():
    command = f'{sys.executable} -c "$PROGRAM" flood | head -1; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PROGRAM": PROGRAM}, check=False
    )
    assert done.stdout.splitlines()[-1] == "141"
    assert done.stderr == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_in_good_order_and_a_second_one_does_not_cut_the_clean_up(number, code):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "sleep"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    time.sleep(0.1)
    for again in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP] * 5:
        process.send_signal(again)
    output, said = process.communicate(timeout=20)
    assert process.returncode == code
    assert output == "cleaned\n"
    assert said.endswith("; run the same command again to go on\n")


@pytest.mark.parametrize(("how", "said"), [("interrupt", "interrupted\n"), ("Terminated", "terminated\n")])
def test_only_a_tool_that_can_go_on_promises_it(how, said):
    assert run(how).stderr == f"wmo-state: {said}"


def shell(command):
    return subprocess.run(
        ["sh", "-c", f'{sys.executable} -c "$PROGRAM" {command}'],
        capture_output=True,
        text=True,
        env={**os.environ, "PROGRAM": PROGRAM},
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("document >&-", 74),
        ("document >&- 2>&-", 74),
        ("document <&-", 0),
        ("document 2>&-", 0),
        ("nothing >&- 2>&- <&-", 0),
        ("Conflict 2>&-", 78),
        ("bug >&- 2>&-", 70),
        ("read <&-", 2),
        ("--help >&-", 74),
        ("--no-such-option 2>&-", 2),
    ],
)
def test_closed_streams_have_their_exit_codes_and_are_no_bug(command, code):
    done = shell(command)
    assert done.returncode == code
    assert ("Traceback" in done.stderr) is False


def test_a_file_never_takes_the_place_of_a_closed_stream():
    assert shell("open <&- >&-").stderr == "wmo-state: descriptor 3\n"


def test_h_is_help():
    assert run("-h").stdout == run("--help").stdout != ""
