import pytest
from wmo_contracts.episode import EpisodeResult
from wmo_contracts.score import CellDocument, ScoreCell
from wmo_contracts.verdict import AssertionVerdict, VerdictDocument
from wmo_score.notes import cell_note, failing_lines, outcome_words


def result(stop_reason: str) -> EpisodeResult:
    return EpisodeResult(task_id="t", steps=(), stop_reason=stop_reason, answer="", turns=0)


def test_a_pass_has_no_note():
    assert cell_note(passed=True, result=result("max_turns"), verdict_note="odd", output="fine") == ""


def test_names_the_stop_reason_and_the_failing_lines():
    output = "ok z\nFAIL a: x\n\n  not ok b: y\nFailure is an option\nok c\n"
    note = cell_note(passed=False, result=result("max_turns"), verdict_note="odd", output=output)
    assert note == "stopped: max_turns; odd; FAIL a: x; not ok b: y"


def test_a_submission_is_not_mentioned():
    assert cell_note(passed=False, result=result("submitted"), verdict_note="", output="FAIL a") == "FAIL a"


def test_no_episode_and_no_words():
    assert cell_note(passed=False, result=None, verdict_note="", output="") == ""


def test_the_last_line_stands_in_for_unknown_words():
    assert failing_lines("first\nAssertionError: 3\n\n") == ["AssertionError: 3"]


def test_at_most_five_lines():
    assert failing_lines("\n".join(f"not ok {n}" for n in range(9))) == [f"not ok {n}" for n in range(5)]


def test_is_cut_at_the_documents_limit():
    note = cell_note(passed=False, result=None, verdict_note="x" * 5000, output="")
    assert len(note) == 2000
    assert note.endswith("...")


def cell(note: str, *, stop_reason: str = "submitted", passed: bool = False) -> CellDocument:
    body = ScoreCell(
        task_id="t", attempt=1, reward=float(passed), passed=passed, artifact_dir="trials/t/attempt-1", note=note
    )
    return CellDocument(cell=body, tree_hash="", doc_hash="", task_hash="", request_hash="", stop_reason=stop_reason)


@pytest.mark.parametrize(
    ("note", "stop_reason", "words"),
    [
        ("FAIL a: x; not ok b", "submitted", "fail (submitted): FAIL a: x"),
        ("stopped: max_turns; FAIL a", "max_turns", "fail (max_turns): FAIL a"),
        ("stopped: max_turns", "max_turns", "fail (max_turns)"),
        ("stopped: error: the node died; FAIL a", "error", "fail (error): stopped: error: the node died"),
    ],
)
def test_progress_says_why_a_trial_failed(note, stop_reason, words):
    assert outcome_words(cell(note, stop_reason=stop_reason), None) == words


def test_progress_says_what_the_judge_said():
    unable = AssertionVerdict(assertion="a", passed=False, valid=True, reason="cannot judge: nothing is\nquoted")
    said = VerdictDocument(passed=False, assertions=(unable,))
    judged = cell("failed assertions: 1 of 1")
    assert outcome_words(judged, said) == r"fail (submitted): cannot judge: nothing is\nquoted"
    broken = said.model_copy(update={"note": "the judge's reply is not as asked for: it is no JSON"})
    assert outcome_words(judged, broken) == "fail (submitted): the judge's reply is not as asked for: it is no JSON"
    assert outcome_words(cell("", passed=True), None) == "pass (submitted)"
    assert len(outcome_words(cell("x" * 500), None)) < 130
