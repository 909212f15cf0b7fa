"""wmo-propose with a shell script as the coding agent, on a real run: the installed tool, bubblewrap, node."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from wmo_population.run_record import read_settings, write_settings

TOOL = Path(sys.executable).parent / "wmo-propose"
EDIT = 'echo "Look first." >> candidate/SYSTEM.md; echo thinking; echo "Tell it to look first"'


def propose(run: Path, *options: str) -> tuple[int, dict, str]:
    """Run the tool beside the run; give its exit code, its document ({} for none) and its stderr."""
    argv = [TOOL, "--run", run.name, *options]  # a relative path, as people write it
    done = subprocess.run(argv, cwd=run.parent, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def test_an_edited_candidate_is_accepted_and_checkpointed(make_run: Callable) -> None:
    made = make_run("bash", "-c", EDIT)
    code, document, _ = propose(made.dir)
    assert (code, document["schema"], document["slot"]) == (0, "wmo.candidate/1", 1)
    assert document["candidate_id"] == "candidate-0001"
    assert document["summary"] == "Tell it to look first"
    assert (made.layout.source_dir(1) / "SYSTEM.md").read_text() == "Work.\nLook first.\n"
    assert made.json("candidates/candidate-0001/pending.json")["tree_hash"] == document["harness"]["tree_hash"]
    evidence = made.json("proposals/slot-0001/status.json")
    assert (evidence["status"], evidence["stop_reason"], evidence["reasons"]) == ("accepted", "submitted", [])
    events = made.json("proposals/slot-0001/events.json")
    assert events["stdout"] == "thinking\nTell it to look first\n"
    assert events["exit_code"] == 0
    assert "candidate/" in (made.layout.proposal_dir(1) / "REQUEST.md").read_text()
    assert not (made.layout.proposal_dir(1) / "error.json").exists()
    assert not made.layout.work.exists()
    last = json.loads((made.dir / "events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["slot"], last["candidate_id"]) == ("accepted", 1, "candidate-0001")


def test_the_request_is_the_commands_input_and_the_workspace_its_folder(make_run: Callable) -> None:
    made = make_run("bash", "-c", "cat > candidate/got.md; ls > candidate/ls.md; echo x >> candidate/SYSTEM.md")
    assert propose(made.dir)[0] == 0
    assert (made.layout.source_dir(1) / "got.md").read_text() == (
        made.layout.proposal_dir(1) / "REQUEST.md"
    ).read_text()
    assert (made.layout.source_dir(1) / "ls.md").read_text().split() == [
        "REQUEST.md",
        "candidate",
        "history",
        "proposals",
    ]


def test_a_failing_command_consumes_the_slot_with_its_reason(make_run: Callable) -> None:
    made = make_run("bash", "-c", f"{EDIT}; echo 'no credit left' >&2; exit 3")
    code, document, stderr = propose(made.dir)
    reason = "the command failed with exit status 3: no credit left"
    assert (code, document["schema"], document["reason"]) == (1, "wmo.rejection/1", reason)
    assert document["evidence_dir"] == "proposals/slot-0001"
    assert reason in stderr
    assert made.json("state.json")["outcomes"][1]["reason"] == reason
    assert made.json("proposals/slot-0001/error.json") == made.json("candidates/candidate-0001/error.json")
    assert made.json("proposals/slot-0001/status.json")["status"] == "rejected"
    assert (made.layout.proposal_dir(1) / "source" / "SYSTEM.md").read_text() == "Work.\nLook first.\n"


def test_every_reason_reaches_the_rejection_and_the_loop_goes_on(make_run: Callable) -> None:
    made = make_run("bash", "-c", "echo 'import \"./gone.ts\";' >> candidate/src/agent.ts; ln -s x candidate/link")
    code, document, _ = propose(made.dir)
    assert code == 1
    assert document["reason"] == (
        "symlink in a tree: 'link'; replace it by the file itself; "
        "'src/agent.ts' imports './gone.ts': the tree has no such file (name it with its extension)"
    )
    assert propose(made.dir)[1]["slot"] == 2


def test_a_candidate_that_knows_the_tasks_is_rejected(make_run: Callable) -> None:
    quote = "when a row without an amount must have been moved to the end, move it"
    first = f"echo '{quote}' > candidate/notes.md; echo 'In task \"csv\" leave every line.' >> candidate/SYSTEM.md"
    made = make_run("bash", "-c", first)
    code, document, _ = propose(made.dir)
    assert code == 1
    assert document["reason"] == (
        "'SYSTEM.md' names the task 'csv': a candidate must not know its tasks; "
        "'notes.md' quotes 'tests/test.sh' of task 'csv' (\"a row without an amount must have been\"): "
        "a candidate must not know its tasks"
    )
    assert made.json("proposals/slot-0001/status.json")["reasons"] == document["reason"].split("; ")


def test_a_suite_that_is_gone_is_named_before_a_turn_is_paid(make_run: Callable, out: Path) -> None:
    made = make_run("bash", "-c", f"touch {out}/paid", allow=[f"write:{out}"])
    (made.dir / "suite").rename(made.dir / "elsewhere")
    code, _, stderr = propose(made.dir)
    assert code == 65
    assert f"no suite at '{made.dir}/suite'" in stderr
    assert not (out / "paid").exists()


def test_nothing_of_the_run_but_candidate_can_be_written(make_run: Callable, tmp_path: Path) -> None:
    places = [
        "history/x",
        "history/candidate-0000/source/SYSTEM.md",
        "history/candidate-0000/trials/csv/attempt-1/wmo-run.json",
        "proposals/x",
        "REQUEST.md",
        "new",
    ]
    hidden = [tmp_path / "run" / name for name in ("state.json", "run.json", "candidates/candidate-0000/report.json")]
    script = f"""
for place in {" ".join(places)}; do
  if echo spoilt >> "$place"; then echo "$place" >> candidate/written.md; fi
done
echo x >> candidate/SYSTEM.md
cat {places[1]} {places[2]} > candidate/seen.md
for path in {" ".join(map(str, hidden))}; do
  if cat "$path"; then echo "$path" >> candidate/written.md; fi
  mkdir -p "$(dirname "$path")"; echo spoilt > "$path"  # below /tmp, which is the box's own
done
"""
    made = make_run("bash", "-c", script)
    before = [path.read_bytes() for path in hidden]
    code, _, stderr = propose(made.dir)
    assert code == 0, stderr
    assert not (made.layout.source_dir(1) / "written.md").exists()
    assert [path.read_bytes() for path in hidden] == before
    assert (made.layout.source_dir(1) / "seen.md").read_text().startswith('Work.\n{"stop_reason"')
    assert (made.layout.source_dir(0) / "SYSTEM.md").read_text() == "Work.\n"


def test_later_slots_see_all_earlier_ones(make_run: Callable, out: Path) -> None:
    made = make_run(
        "bash",
        "-c",
        f"cp history/manifest.json candidate/seen.json; find history proposals | sort > {out}/found; "
        "echo x >> candidate/SYSTEM.md; echo Changed; [ -e history/candidate-0001 ] || exit 4",
        allow=[f"write:{out}"],
    )
    assert propose(made.dir)[0] == 1
    assert propose(made.dir)[0] == 0
    made.score_due(2)
    code, document, _ = propose(made.dir)
    assert code == 0
    files = {file["path"]: file["content"] for file in document["harness"]["files"]}
    assert json.loads(files["seen.json"])["candidates"] == [
        {"candidate_id": "candidate-0000", "slot": 0, "kind": "scored", "score": 0.5, "pass_rate": 0.5, "summary": "",
         "reason": ""},
        {"candidate_id": "candidate-0001", "slot": 1, "kind": "invalid", "score": None, "pass_rate": None,
         "summary": "Changed", "reason": "the command failed with exit status 4: Changed"},
        {"candidate_id": "candidate-0002", "slot": 2, "kind": "scored", "score": 1.0, "pass_rate": 1.0,
         "summary": "Changed", "reason": ""},
    ]  # fmt: skip
    for path in ("history/candidate-0001/NO-EVIDENCE.md", "history/candidate-0001/error.json",
                 "history/candidate-0002/source/src/agent.ts", "history/candidate-0002/report.json",
                 "history/candidate-0002/trials/logs/attempt-1/verifier/reward.txt",
                 "proposals/slot-0001/events.json", "proposals/slot-0002/source/SYSTEM.md"):  # fmt: skip
        assert path in (out / "found").read_text().splitlines()
    assert "The best so far is candidate-0002 with 1.0000." in (made.layout.proposal_dir(3) / "REQUEST.md").read_text()


def test_a_later_slot_reads_what_an_earlier_turn_was_asked_and_printed(make_run: Callable) -> None:
    show = "for name in events.json status.json error.json; do cp proposals/slot-0001/$name candidate/; done; "
    show += "cp proposals/slot-0001/REQUEST.md candidate/asked.md; "
    show += "cp proposals/slot-0001/attempt-1/REQUEST.md candidate/try.md"
    shown = "[ ! -e proposals/slot-0001/REQUEST.md ]"
    made = make_run(
        "bash", "-c", f"echo x >> candidate/SYSTEM.md; if {shown}; then echo out; echo err >&2; exit 4; fi; {show}"
    )
    made.layout.proposal_dir(1).mkdir(parents=True)
    (made.layout.proposal_dir(1) / "REQUEST.md").write_text("A try that was cut short.\n")
    assert [propose(made.dir)[0] for _ in range(2)] == [1, 0]
    seen = made.layout.proposal_dir(2) / "source"
    events = json.loads((seen / "events.json").read_text())
    assert (events["stdout"], events["stderr"], events["exit_code"]) == ("out\n", "err\n", 4)
    assert events["argv"][:2] == ["bash", "-c"]
    assert "This is slot 1 of 3." in (seen / "asked.md").read_text()
    assert (seen / "try.md").read_text() == "A try that was cut short.\n"
    assert (seen / "status.json").read_bytes() == (made.layout.proposal_dir(1) / "status.json").read_bytes()
    assert "the command failed with exit status 4: err" in (seen / "error.json").read_text()


def test_a_try_that_was_cut_short_is_kept_and_not_shown_to_the_next(make_run: Callable) -> None:
    made = make_run("bash", "-c", "find proposals | sort > candidate/found.md; cp -r proposals/* candidate/src/")
    made.layout.proposal_dir(1).mkdir(parents=True)
    (made.layout.proposal_dir(1) / "REQUEST.md").write_text("an earlier try")
    assert propose(made.dir)[0] == 0
    assert (made.layout.source_dir(1) / "found.md").read_text() == "proposals\nproposals/slot-0001\n"
    assert (made.layout.proposal_dir(1) / "attempt-1/REQUEST.md").read_text() == "an earlier try"


def test_without_a_sandbox_the_evidence_is_linked(make_run: Callable) -> None:
    made = make_run(
        "bash", "-c", "cat history/candidate-0000/trials/csv/attempt-1/wmo-run.json > candidate/seen.md", sandbox="none"
    )
    code, _, stderr = propose(made.dir)
    assert code == 0, stderr
    assert "no_tool_call" in (made.layout.source_dir(1) / "seen.md").read_text()


def test_another_step_is_a_conflict_that_names_it(make_run: Callable) -> None:
    made = make_run("bash", "-c", EDIT, iterations=1)
    assert propose(made.dir)[0] == 0
    code, document, stderr = propose(made.dir)
    assert (code, document) == (78, {})
    assert "next is 'score' of slot 1" in stderr
    made.score_due(1)
    code, _, stderr = propose(made.dir)
    assert code == 78
    assert "is complete" in stderr


def test_a_flag_against_the_record_is_a_conflict_that_names_both(make_run: Callable) -> None:
    made = make_run("bash", "-c", "true")
    code, _, stderr = propose(made.dir, "--proposer", "pi")
    assert code == 78
    assert "'command bash -c true'" in stderr
    assert "'pi'" in stderr
    assert propose(made.dir, "--proposer", "command")[0] == 2
    assert propose(made.dir, "--", "true")[0] == 2


def test_a_command_that_is_not_there_is_missing_and_consumes_nothing(make_run: Callable) -> None:
    made = make_run("no-such-agent")
    code, _, stderr = propose(made.dir)
    assert code == 69
    assert "no-such-agent" in stderr
    assert len(made.json("state.json")["outcomes"]) == 1


def test_a_kill_between_verdict_and_commit_buys_no_second_turn(make_run: Callable, out: Path) -> None:
    counter = out / "turns"
    made = make_run("bash", "-c", f"echo turn >> {counter}; {EDIT}", allow=[f"write:{out}"])
    assert propose(made.dir)[0] == 0
    made.layout.pending(1).unlink()  # as if killed before the checkpoint's last write
    code, document, _ = propose(made.dir)
    assert (code, document["summary"]) == (0, "Tell it to look first")
    assert counter.read_text() == "turn\n"
    assert made.layout.pending(1).exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)]
)
def test_a_signal_ends_the_agent_and_the_slot_is_tried_again(
    make_run: Callable, out: Path, number: signal.Signals, code: int
) -> None:
    started = out / "started"
    slow = f"trap '' TERM; echo so far; touch {started}; sleep 20"
    made = make_run("bash", "-c", f"if [ -e {started} ]; then {EDIT}; else {slow}; fi", allow=[f"write:{out}"])
    process = subprocess.Popen([TOOL, "--run", made.dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, number)
    assert process.communicate(timeout=30)[0] == b""
    assert process.returncode == code
    deadline = time.monotonic() + 10  # after SIGKILL the kernel ends the box, a moment later
    while _running(str(started)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _running(str(started))
    assert len(made.json("state.json")["outcomes"]) == 1
    assert propose(made.dir)[0] == 0
    assert (made.layout.proposal_dir(1) / "attempt-1" / "REQUEST.md").is_file()
    if number != signal.SIGKILL:
        cut = made.json("proposals/slot-0001/attempt-1/events.json")
        assert (cut["cancelled"], cut["stdout"]) == (True, "so far\n")
    assert [path.name for path in sorted(made.layout.proposal_dir(1).iterdir())] == [
        "REQUEST.md", "attempt-1", "events.json", "source", "status.json"]  # fmt: skip


def test_a_turn_that_came_to_its_end_is_kept_though_a_signal_came(make_run: Callable, tmp_path: Path) -> None:
    """The agent itself sends us the signal, as its last deed: its turn is paid for, and whole."""
    made = make_run("bash", "-c", f'{EDIT}; kill -INT "$(cat {tmp_path}/pid)"', sandbox="none")
    shell = f'echo $$ > {tmp_path}/pid; exec "$0" --run "$1"'
    done = subprocess.run(
        ["bash", "-c", shell, TOOL, made.dir], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode == 130 and not made.layout.pending(1).exists():  # the signal was faster than the agent's end
        assert made.json("proposals/slot-0001/events.json")["cancelled"]
    else:
        assert made.layout.pending(1).exists()
    assert propose(made.dir)[0] in (0, 78)


@pytest.mark.parametrize("sandbox", ["bwrap", "none"])
def test_what_left_the_commands_process_group_ends_with_the_turn(make_run: Callable, sandbox: str) -> None:
    made = make_run("bash", "-c", f"setsid sleep 86393 > /dev/null 2>&1 & {EDIT}", sandbox=sandbox)
    assert propose(made.dir)[0] == 0
    assert not _running("86393\0")


def test_rejections_in_a_row_stop_the_run_until_the_limit_is_raised(make_run: Callable, out: Path) -> None:
    counter = out / "turns"
    script, allow = f"echo turn >> {counter}; exit 3", [f"write:{out}"]
    made = make_run("bash", "-c", script, iterations=9, max_rejections=2, allow=allow)
    assert [propose(made.dir)[0] for _ in range(2)] == [1, 1]
    for _ in range(2):
        code, document, stderr = propose(made.dir)
        assert (code, document) == (78, {})
        assert "2 proposals in a row were rejected, its limit is 2" in stderr
        assert f"'wmo-state init {made.dir} --max-consecutive-rejections 4'" in stderr
        assert "candidate-0002/error.json" in stderr
    assert counter.read_text() == "turn\n" * 2
    write_settings(made.dir, read_settings(made.dir).model_copy(update={"max_consecutive_rejections": 4}))
    assert [propose(made.dir)[0] for _ in range(3)] == [1, 1, 78]


def _running(text: str) -> list[bytes]:
    """Give the command lines of living processes that hold `text`."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended while we looked
            lines.append(path.read_bytes())
    return [line for line in lines if text.encode() in line]


def test_without_a_box_the_workers_key_does_not_reach_the_command(
    make_run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMO_API_KEY", "sesame")
    monkeypatch.setenv("AGENT_KEY", "its own")
    made = make_run("bash", "-c", 'echo "key: $WMO_API_KEY, $AGENT_KEY" >> candidate/SYSTEM.md', sandbox="none")
    assert propose(made.dir)[0] == 0
    assert (made.layout.source_dir(1) / "SYSTEM.md").read_text() == "Work.\nkey: , its own\n"
