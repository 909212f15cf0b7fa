"""The world persona: what the prompt holds, a plain guess, a note; nothing of its own."""

import json

import pytest
from wmo_models.offline.personas import answer
from wmo_models.offline.request import CompletionRequest


def ask(scene, *more: dict) -> str:
    """Give the text that the persona answers to a scene."""
    text = scene if isinstance(scene, str) else json.dumps(scene)
    messages = ({"role": "system", "content": "You play."}, {"role": "user", "content": text}, *more)
    request = CompletionRequest("offline-world", messages, (), frozenset(), 8192, 0.0, False, False)
    return json.loads(answer(request, ()))["choices"][0]["message"]["content"]


def scene(tool: str, examples: tuple = (), steps: tuple = (), note: str = "", **arguments: str) -> dict:
    return {
        "instruction": "Do it.",
        "state_note": note,
        "last_steps": list(steps),
        "recorded_examples": list(examples),
        "call": {"tool": tool, "arguments": arguments},
    }


def example(content: str, *, same: bool, error: bool = False) -> dict:
    return {"same_call": same, "same_task": True, "call": {}, "content": content, "is_error": error}


def test_the_first_example_of_the_same_call_is_what_comes_back():
    examples = (example("near", same=False), example("exact", same=True, error=True), example("older", same=True))
    told = json.loads(ask(scene("bash", examples, note="ls: x", command="cat a\nb")))
    assert told == {"content": "exact", "is_error": True, "state_note": "ls: x\nbash: cat a"}


@pytest.mark.parametrize(
    ("tool", "arguments", "content", "is_error"),
    [
        ("bash", {"command": "make"}, "", False),
        ("write_file", {"path": "a", "content": "é"}, "wrote 2 bytes to 'a'", False),
        ("read_file", {"path": "a"}, "new", False),
        ("read_file", {"path": "b"}, "cannot read 'b': no such file or directory", True),
    ],
)
def test_without_one_it_guesses_plainly(tool, arguments, content, is_error):
    written = [{"tool": "write_file", "arguments": {"path": "a", "content": text}} for text in ("old", "new")]
    steps = tuple({"call": call, "content": "", "is_error": False} for call in written)
    told = json.loads(ask(scene(tool, (example("near", same=False),), steps, **arguments)))
    assert (told["content"], told["is_error"]) == (content, is_error)


def test_the_note_stays_short():
    told = json.loads(ask(scene("bash", note="x" * 5000, command="ls")))
    assert len(told["state_note"]) == 1000
    assert told["state_note"].endswith("x\nbash: ls")


@pytest.mark.parametrize("odd", ["ls", "[]", '{"call": 1}', '{"call": {"tool": "bash", "arguments": "ls"}}'])
def test_what_holds_no_call_gets_no_json(odd):
    assert ask(odd).startswith("I play a computer")


def test_it_answers_the_same_again_when_it_is_asked_again():
    more = ({"role": "assistant", "content": "?"}, {"role": "user", "content": "That was no valid answer."})
    first = scene("bash", (example("exact", same=True),), command="ls")
    assert ask(first, *more) == ask(first)
