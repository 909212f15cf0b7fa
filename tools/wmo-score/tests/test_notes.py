from wmo_contracts.episode import EpisodeResult
from wmo_score.notes import cell_note


def result(stop_reason: str) -> EpisodeResult:
    return EpisodeResult(task_id="t", steps=(), stop_reason=stop_reason, answer="", turns=0)


def test_a_pass_has_no_note():
    assert cell_note(passed=True, result=result("max_turns"), verifier_note="fine") == ""


def test_names_the_stop_reason_and_the_verifiers_lines():
    note = cell_note(passed=False, result=result("max_turns"), verifier_note="FAIL a: x\n\n  FAIL b: y\n")
    assert note == "agent stopped: max_turns; verifier: FAIL a: x | FAIL b: y"


def test_a_submission_is_not_mentioned():
    assert cell_note(passed=False, result=result("submitted"), verifier_note="FAIL a") == "verifier: FAIL a"


def test_no_episode_and_no_words():
    assert cell_note(passed=False, result=None, verifier_note="") == ""


def test_is_cut_at_the_documents_limit():
    note = cell_note(passed=False, result=None, verifier_note="x" * 5000)
    assert len(note) == 2000
    assert note.endswith("...")
