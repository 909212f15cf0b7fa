"""The text form of documents holds for whatever an agent says."""

import json

import pytest
from wmo_contracts.base import dump_text, mend_json, mend_text
from wmo_contracts.episode import Action, EpisodeResult, Observation, Step


def test_half_a_character_does_not_make_evidence_impossible_to_write():
    action = Action(kind="tool", name="bash", arguments={"command": json.loads('"echo \\ud83d"')})
    step = Step(action=action, observation=Observation(content="\udc80"))
    text = EpisodeResult(task_id="t", steps=(step,), stop_reason="error", answer="", turns=1).to_text()
    read = EpisodeResult.model_validate_json(text.encode())
    assert (read.steps[0].action.arguments, read.steps[0].observation.content) == ({"command": "echo \ufffd"}, "\ufffd")


def test_whole_characters_stay_as_they_are():
    assert dump_text({"a": "\U0001f600 é"}) == '{\n  "a": "\U0001f600 é"\n}\n'


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("plain \U0001f600", "plain \U0001f600"),
        ("\ud83d", "\ufffd"),
        ("a\ude00\ud83db", "a\ufffd\ufffdb"),
    ],
)
def test_half_characters_are_replaced_each_by_one(text, mended):
    assert mend_text(text) == mended
    assert json.loads(mend_json(json.dumps(text))) == mended
    assert json.loads(mend_json(json.dumps(text, ensure_ascii=False))) == mended


def test_what_only_looks_like_half_a_character_stays():
    inner = json.dumps({"command": "\ud83d"})  # as text of a JSON string: a backslash, then letters
    assert json.loads(mend_json(json.dumps(inner))) == inner
