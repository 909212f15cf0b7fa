from wmo_contracts.episode import EpisodeResult
from wmo_score.notes import cell_note, failing_lines


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
