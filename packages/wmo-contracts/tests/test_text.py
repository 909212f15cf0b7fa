"""The text form of documents holds for whatever an agent says."""

import json

from wmo_contracts.base import dump_text
from wmo_contracts.episode import Action, EpisodeResult, Observation, Step


def test_half_a_character_does_not_make_evidence_impossible_to_write():
    action = Action(kind="tool", name="bash", arguments={"command": json.loads('"echo \\ud83d"')})
    step = Step(action=action, observation=Observation(content="\udc80"))
    text = EpisodeResult(task_id="t", steps=(step,), stop_reason="error", answer="", turns=1).to_text()
    read = EpisodeResult.model_validate_json(text.encode())
    assert (read.steps[0].action.arguments, read.steps[0].observation.content) == ({"command": "echo ?"}, "?")


def test_whole_characters_stay_as_they_are():
    assert dump_text({"a": "\U0001f600 é"}) == '{\n  "a": "\U0001f600 é"\n}\n'
