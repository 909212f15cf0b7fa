import pytest
from wmo_contracts.episode import Action, Observation, Step, Usage
from wmo_episode.result import Ending, conclude
from wmo_episode.session import Done
from wmo_kit.child import ChildResult
from wmo_models.provider import ProviderError

STEP = Step(action=Action(kind="tool", name="bash"), observation=Observation(content="ok"), task="t")


def child(returncode=0, stderr=b"", timed_out=False):
    return ChildResult(returncode, b"", stderr, timed_out, cancelled=False, seconds=1.0)


def conclude_with(**ending):
    return conclude("t", Ending(**{"done": None, "provider_error": None} | ending), (STEP,), Usage(calls=3), {"a": 1.0})


def test_a_submission_is_the_only_completion():
    result = conclude_with(done=Done("42", "submit"))
    assert (result.stop_reason, result.answer, result.turns, result.note) == ("submitted", "42", 1, "")
    assert result.steps == (STEP,)
    assert result.usage.calls == 3


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("submitted", "submitted"),
        ("max_turns", "max_turns"),
        ("no_action", "no_action"),
        ("error", "error"),
        ("budget", "budget"),
        ("no_tool_call", "no_tool_call"),
        ("output_truncated", "output_truncated"),
        ("unparsed_tool_call", "unparsed_tool_call"),
        ("provider_error", "provider_error"),
        ("", "unknown_done_reason"),
        ("tired", "unknown_done_reason"),
    ],
)
def test_what_the_agent_says_is_mapped(said, reason):
    result = conclude_with(done=Done("x", said, "why"))
    assert result.stop_reason == reason
    if reason != "submitted":
        closing = result.steps[-1]
        assert closing.action == Action(kind="message", content="(pi runtime)")
        assert closing.observation == Observation(content="why", is_error=True)
        assert closing.task == "t"
        assert result.turns == 2


def test_a_provider_error_is_never_a_submission():
    down = ProviderError("endpoint down", transient=True)
    result = conclude_with(done=Done("42", "submit"), provider_error=down)
    assert (result.stop_reason, result.note, result.model_fault) == ("provider_error", "endpoint down", "transient")


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({"transient": True}, "transient"),
        ({"transient": False}, "endpoint"),
        ({"transient": False, "by_request": True}, "request"),
    ],
)
def test_whose_failing_a_model_failure_is(how, fault):
    assert conclude_with(provider_error=ProviderError("x", **how)).model_fault == fault


def test_an_agent_that_only_says_provider_error_blames_no_model():
    result = conclude_with(done=Done("", "provider_error", "it was the model"))
    assert (result.stop_reason, result.model_fault) == ("provider_error", None)


def test_exit_0_without_done_is_max_turns():
    assert conclude_with(child=child()).stop_reason == "max_turns"


def test_any_other_exit_is_an_error_with_the_end_of_stderr():
    result = conclude_with(child=child(1, b"x" * 600 + b"boom\n"))
    assert result.stop_reason == "error"
    assert result.note == "x" * 496 + "boom"
    assert "status -9" in conclude_with(child=child(-9)).note


def test_a_timeout_is_a_result():
    result = conclude_with(child=child(-15, b"noise", timed_out=True), timeout_s=3)
    assert (result.stop_reason, result.note) == ("error", "timed out after 3 s")


def test_after_done_the_process_does_not_matter():
    assert conclude_with(done=Done("42", "submit"), child=child(1, timed_out=True)).stop_reason == "submitted"


def test_served_by_hand_and_stopped():
    assert conclude_with().note == "the episode was stopped before /done"


def test_notes_do_not_vary_between_runs():
    hidden = {"http://127.0.0.1:4711": "http://shim", "/tmp/episode-x": "/run/wmo"}
    said = b"at /tmp/episode-x/harness/a.ts: http://127.0.0.1:4711/task"
    assert conclude_with(child=child(1, said), hidden=hidden).note == "at /run/wmo/harness/a.ts: http://shim/task"
