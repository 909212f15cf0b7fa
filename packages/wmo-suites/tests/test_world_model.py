"""The world model: its prompt, its strict reading of replies, the note, its failures. The model is a script."""

import json
import threading
import time

import pytest
from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Action, Observation, Step, Usage
from wmo_kit.errors import Missing, Transient
from wmo_suites.environment import KeepsNote
from wmo_suites.nearest import RecordedSteps
from wmo_suites.recorded import RecordedEpisode
from wmo_suites.sandbox import Sandbox
from wmo_suites.world_model import TRIES, WorldModel
from wmo_suites.world_prompt import CALL_CHARACTERS, EXAMPLE_CHARACTERS, LAST_STEPS, NOTE_CHARACTERS, clipped
from wmo_suites.world_reply import BadReply, Prediction, read_prediction


class Script:
    """A model that gives these replies in order, or raises them; the last one for ever."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies, self.requests = replies, list[ChatRequest]()

    def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return says(reply)

    def told(self, number: int = -1) -> dict:
        return json.loads(self.requests[number].messages[1]["content"])


def says(text: str | None, finish: str = "stop", *calls: ToolCall) -> ChatReply:
    usage = Usage(prompt_tokens=10, completion_tokens=3, cost=0.5)
    return ChatReply(content=text, tool_calls=calls, finish_reason=finish, model="m", usage=usage)


def predicts(content: str = "out", note: str = "note", *, error: bool = False) -> str:
    return json.dumps({"content": content, "is_error": error, "state_note": note})


def bash(command: str) -> Action:
    return Action(kind="tool", name="bash", arguments={"command": command})


def world(model, *recorded: tuple[str, str]) -> WorldModel:
    steps = tuple(Step(action=bash(command), observation=Observation(content=seen)) for command, seen in recorded)
    return WorldModel(model, "t", "Do it.", RecordedSteps([RecordedEpisode("t", steps)]))


def test_the_prompt_says_what_is_known_and_the_note_is_carried_forward():
    model = Script(predicts("a.txt\n", "a.txt exists"), predicts("boom", "a.txt broke", error=True), predicts())
    place = world(model, ("ls", "real\n"), ("cat a.txt", "text"))
    assert isinstance(place, KeepsNote)
    assert place.state_note == ""
    assert place.execute(bash("ls")) == Observation(content="a.txt\n")
    assert place.state_note == "a.txt exists"
    assert place.execute(bash("./break")) == Observation(content="boom", is_error=True)
    place.execute(bash("cat a.txt"))
    first, last = model.told(0), model.told()
    assert (first["instruction"], first["state_note"], first["last_steps"]) == ("Do it.", "", [])
    assert first["call"] == {"tool": "bash", "arguments": {"command": "ls"}}
    assert first["recorded_examples"][0] == {
        "same_task": True,
        "same_call": True,
        "call": {"tool": "bash", "arguments": {"command": "ls"}},
        "content": "real\n",
        "is_error": False,
    }
    assert last["state_note"] == "a.txt broke"
    assert [(step["content"], step["is_error"]) for step in last["last_steps"]] == [("a.txt\n", False), ("boom", True)]
    assert [example["same_call"] for example in last["recorded_examples"]] == [True, False]
    assert [message["role"] for message in model.requests[0].messages] == ["system", "user"]
    assert place.usage == Usage(calls=3, prompt_tokens=30, completion_tokens=9, cost=1.5)


def test_a_prompt_stays_bounded_whatever_the_episode_does():
    long = "x" * 100_000
    model = Script(predicts(long, long))
    place = world(model, *((f"cat {number} {long}", long) for number in range(20)))
    for number in range(20):
        seen = place.execute(bash(f"echo {number} {long}"))
    assert seen.truncated
    assert len(seen.content) < 31_000
    assert len(place.state_note) < NOTE_CHARACTERS + 100
    told = model.told()
    assert len(told["last_steps"]) == LAST_STEPS
    assert len(told["call"]["arguments"]["command"]) < CALL_CHARACTERS + 100
    assert len(told["recorded_examples"][0]["content"]) < EXAMPLE_CHARACTERS + 100
    assert len(model.requests[-1].messages[1]["content"]) < 180_000


def test_a_clipped_text_keeps_head_and_tail_and_says_what_is_gone():
    assert clipped("short", 10) == "short"
    assert clipped("abcdefghij-klm", 10) == "abcde\n[... 4 characters are left out here ...]\nj-klm"


@pytest.mark.parametrize(
    "text", [predicts(), f"  {predicts()}\n", f"```json\n{predicts()}\n```", f"```\n{predicts()}\n```"]
)
def test_one_json_object_is_a_reply_fenced_or_not(text):
    assert read_prediction(says(text)) == Prediction("out", is_error=False, state_note="note")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "it is empty"),
        ("", "it is empty"),
        ("a.txt", "it is not one JSON value"),
        (f"Here you are: {predicts()}", "it is not one JSON value"),
        (predicts() + predicts(), "it is not one JSON value"),
        (f"```json\n{predicts()}\n```\nI hope this helps.", "it is not one JSON value"),
        (predicts()[:-1], "it is not one JSON value"),
        ('{"content": "a", "content": "b", "is_error": false, "state_note": ""}', "duplicate key 'content'"),
        ("[]", "it is no JSON object"),
        ("NaN", "NaN is not a JSON number"),
        ('{"content": "a", "is_error": false}', "its keys are 'content', 'is_error', and must be exactly"),
        (
            '{"content": "", "is_error": false, "state_note": "", "why": ""}',
            "its keys are .*'why', and must be",
        ),
        ('{"content": null, "is_error": false, "state_note": ""}', "its 'content' is no string"),
        ('{"content": "", "is_error": 0, "state_note": ""}', "its 'is_error' is no boolean"),
        ('{"content": "", "is_error": "false", "state_note": ""}', "its 'is_error' is no boolean"),
        ('{"content": "", "is_error": false, "state_note": {}}', "its 'state_note' is no string"),
    ],
)
def test_anything_else_is_none(text, problem):
    with pytest.raises(BadReply, match=problem):
        read_prediction(says(text))


def test_a_reply_that_is_cut_or_calls_a_tool_is_none_however_it_reads():
    with pytest.raises(BadReply, match="cut off"):
        read_prediction(says(predicts(), "length"))
    with pytest.raises(BadReply, match="calls a tool"):
        read_prediction(says(predicts(), "tool_calls", ToolCall(id="1", name="bash", arguments="{}")))


def test_half_characters_are_mended():
    assert read_prediction(says('{"content": "\\ud83d", "is_error": false, "state_note": ""}')).content == "�"


def test_a_malformed_reply_is_asked_for_again_with_the_reason():
    model = Script("ls: done!", predicts("good"))
    place = world(model)
    assert place.execute(bash("ls")).content == "good"
    *_, said, complaint = model.requests[1].messages
    assert said == {"role": "assistant", "content": "ls: done!"}
    assert complaint["role"] == "user"
    assert "it is not one JSON value" in complaint["content"]
    assert place.usage.calls == 2
    assert [step["content"] for step in (place.execute(bash("pwd")), model.told())[1]["last_steps"]] == ["good"]


def test_a_model_that_never_answers_well_is_a_failure_and_no_observation():
    model = Script("nonsense")
    with pytest.raises(Transient, match=rf"no valid reply to a call of 'bash' in {TRIES} tries; the last: "):
        world(model).execute(bash("ls"))
    assert len(model.requests) == TRIES


@pytest.mark.parametrize("error", [Transient("down"), Missing("no such model")])
def test_what_the_model_raises_goes_through(error):
    with pytest.raises(type(error), match=str(error)):
        world(Script(error)).execute(bash("ls"))


@pytest.mark.parametrize(
    "action",
    [
        Action(kind="tool", name="bash", arguments={"cmd": "ls"}),
        Action(kind="tool", name="fly", arguments={}),
        Action(kind="tool", name="bash", arguments={"command": "a\0"}),
    ],
)
def test_a_wrong_call_is_told_in_the_sandboxes_words_and_the_model_is_not_asked(action, tmp_path):
    model = Script(predicts())
    with Sandbox(tmp_path) as sandbox:
        assert world(model).execute(action) == sandbox.execute(action)
    assert model.requests == []


def test_closing_ends_a_call_that_waits_for_the_model():
    begun, release = threading.Event(), threading.Event()

    class Slow:
        def complete(self, request):
            begun.set()
            release.wait(30)
            return says(predicts())

    place = world(Slow())
    threading.Thread(target=lambda: (begun.wait(30), place.close())).start()
    started = time.monotonic()
    with pytest.raises(Transient, match="had not answered when the episode was over"):
        place.execute(bash("sleep"))
    assert time.monotonic() - started < 10
    place.close()
    release.set()
    for _ in range(3):
        with pytest.raises(Transient, match="had not answered"):
            place.execute(bash("again"))
