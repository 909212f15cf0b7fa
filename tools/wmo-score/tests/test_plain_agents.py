"""Trials of the agents that need no model: real sandboxes, real verifiers."""

import json
import os
from pathlib import Path

import pytest
from wmo_contracts.score import CellDocument
from wmo_kit.documents import read_document
from wmo_kit.errors import BadDocument, Locked, Transient, Usage
from wmo_population.lock import RunLock
from wmo_score.adhoc import score_harness
from wmo_score.options import Options


def rewards(document) -> dict[str, float]:
    return {f"{cell.task_id} {cell.attempt}": cell.reward for cell in document.report.cells}


def stamps(keep: Path) -> dict[str, int]:
    """Give when each cell was written, by task."""
    return {path.parents[1].name: path.stat().st_mtime_ns for path in keep.glob("trials/*/*/cell.json")}


def test_the_oracle_passes_every_attempt_at_once(log, suite, tmp_path):
    document = score_harness(log, None, Options(suite=suite, agent="oracle", attempts=2, jobs=6, keep=tmp_path / "k"))
    assert (document.candidate_id, document.score, document.simulated) == ("oracle", 1.0, False)
    assert rewards(document) == {f"{task} {n}": 1.0 for task in ("count", "greet", "serve") for n in (1, 2)}
    assert sorted(path.name for path in tmp_path.joinpath("k").iterdir()) == ["trials"]
    folder = tmp_path / "k" / "trials" / "count" / "attempt-2"
    assert sorted(path.name for path in folder.iterdir()) == ["cell.json", "verifier"]
    cell = read_document(folder / "cell.json", CellDocument)
    assert cell.cell.tests is not None and cell.cell.tests.passed == 2
    assert set(cell.timings) == {"agent", "verifier", "total"}


def test_doing_nothing_gives_nothing_and_says_why(log, suite):
    document = score_harness(log, None, Options(suite=suite, agent="nop", tasks=("greet",)))
    assert (document.candidate_id, document.score) == ("nop", 0.0)
    assert document.report.cells[0].note == "not ok greeting: /app/greeting.txt does not say hello"


def test_a_part_passes_only_in_positive_binary(log, suite):
    (suite / "count/solution/solve.sh").write_text("wc -l < /app/words.txt > /app/count.txt\n")
    options = Options(suite=suite, agent="oracle", tasks=("count",))
    raw = score_harness(log, None, options)
    binary = score_harness(log, None, Options(**{**vars(options), "reward_mode": "positive-binary"}))
    assert (rewards(raw), raw.score) == ({"count 1": 0.5}, 0.0)
    assert (rewards(binary), binary.score) == ({"count 1": 0.5}, 1.0)


def test_finished_cells_are_kept_and_a_changed_task_runs_again(log, suite, tmp_path, capsys):
    options = Options(suite=suite, agent="oracle", keep=tmp_path / "k")
    first = score_harness(log, None, options)
    before = stamps(tmp_path / "k")
    assert score_harness(log, None, options) == first
    assert stamps(tmp_path / "k") == before
    assert "3 of 3 trials are kept" in capsys.readouterr().err

    (suite / "greet/instruction.md").write_text("Say hello.\n")
    assert score_harness(log, None, options) == first
    assert "greet #1 runs again: the task changed" in capsys.readouterr().err
    after = stamps(tmp_path / "k")
    assert {task for task in after if after[task] != before[task]} == {"greet"}


@pytest.mark.parametrize(("agent", "score"), [("oracle", 1.0), ("nop", 0.0)])
def test_without_a_box(log, suite, agent, score):
    document = score_harness(log, None, Options(suite=suite, agent=agent, tasks=("greet",), sandbox="none"))
    assert (document.score, document.sandbox) == (score, "none")


def test_a_half_finished_trial_is_replaced_whole(log, suite, tmp_path):
    folder = tmp_path / "k/trials/greet/attempt-1"
    folder.mkdir(parents=True)
    (folder / "wmo-run.json").write_text("{")
    score_harness(log, None, Options(suite=suite, agent="oracle", tasks=("greet",), keep=tmp_path / "k"))
    assert sorted(path.name for path in folder.iterdir()) == ["cell.json", "verifier"]
    assert json.loads((folder / "cell.json").read_text())["cell"]["reward"] == 1.0


@pytest.mark.parametrize("make", ["torn", "fifo", "folder", "link"])
def test_a_cell_that_is_broken_is_named_and_not_repaired(log, suite, tmp_path, make):
    path = tmp_path / "k/trials/greet/attempt-1/cell.json"
    path.parent.mkdir(parents=True)
    if make == "torn":
        path.write_text('{"schema": "wmo.cell/1"')
    elif make == "fifo":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    before = (path.lstat().st_ino, path.lstat().st_mtime_ns)
    with pytest.raises(BadDocument, match=r"attempt-1/cell\.json'.*: move '.*attempt-1' away to run that trial again"):
        score_harness(log, None, Options(suite=suite, agent="oracle", tasks=("greet",), keep=tmp_path / "k"))
    assert (path.lstat().st_ino, path.lstat().st_mtime_ns) == before


def test_nothing_outside_is_removed_through_a_link(log, suite, tmp_path):
    outside = tmp_path / "outside/attempt-1/precious"
    outside.parent.mkdir(parents=True)
    outside.write_text("mine")
    (tmp_path / "k/trials").mkdir(parents=True)
    (tmp_path / "k/trials/greet").symlink_to(tmp_path / "outside")
    with pytest.raises(BadDocument, match="trials/greet' is a symlink"):
        score_harness(log, None, Options(suite=suite, agent="oracle", tasks=("greet",), keep=tmp_path / "k"))
    assert outside.read_text() == "mine"


def test_a_missing_reward_is_no_score_and_runs_again(log, suite, tmp_path):
    script = suite / "greet/tests/test.sh"
    whole = script.read_text()
    script.write_text("echo broken verifier\n")
    options = Options(suite=suite, agent="oracle", jobs=3, keep=tmp_path / "k")
    with pytest.raises(Transient, match=r"'greet #1': no reward from the verifier.*broken verifier"):
        score_harness(log, None, options)
    before = stamps(tmp_path / "k")
    assert set(before) == {"count", "serve"}
    partial = tmp_path / "k/trials/greet/attempt-1.partial"
    assert (partial / "verifier/output.txt").read_text() == "broken verifier\n"
    assert not partial.with_name("attempt-1").exists()

    with pytest.raises(Transient, match="no verdict for 1 of the trials, the finished ones are kept; run it again"):
        score_harness(log, None, options)
    with pytest.raises(Transient, match="no verdict for 1 of the trials, and nothing is kept"):
        score_harness(log, None, Options(suite=suite, agent="oracle", tasks=("greet",)))
    script.write_text(whole)
    assert score_harness(log, None, options).score == 1.0
    assert {task: at for task, at in stamps(tmp_path / "k").items() if task != "greet"} == before
    assert not partial.exists()


def test_two_at_one_folder_do_not_mix(log, suite, tmp_path):
    (tmp_path / "k").mkdir()
    with RunLock(tmp_path / "k"), pytest.raises(Locked, match="in use"):
        score_harness(log, None, Options(suite=suite, agent="oracle", keep=tmp_path / "k"))


@pytest.mark.parametrize(
    ("harness", "options", "words"),
    [
        (None, {"agent": "oracle", "suite": None}, "no suite"),
        (None, {}, "no harness"),
        ("h.json", {"agent": "nop"}, "'--agent nop' needs no harness: leave out 'h.json'"),
    ],
)
def test_usage(log, suite, harness, options, words):
    with pytest.raises(Usage, match=words):
        score_harness(log, harness, Options(**{"suite": suite, **options}))


def test_an_unknown_task_is_named(log, suite):
    with pytest.raises(BadDocument, match="unknown task 'nowhere'"):
        score_harness(log, None, Options(suite=suite, agent="nop", tasks=("nowhere",)))
