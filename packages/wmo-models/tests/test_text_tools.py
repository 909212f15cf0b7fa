"""The worker where its tools stand in the prompt: what it reads, what it writes, and how its limits show."""

import json

import pytest
from wmo_models.offline.conversation import read_conversation
from wmo_models.offline.personas import MODELS, OPTIMIZER, WORKER, answer
from wmo_models.offline.reply import Move, bash, utter
from wmo_models.offline.request import parse_request
from wmo_models.offline.text_tools import FORM_TOKENS, as_function_calls, call_as_text, tools_in_text

DESCRIBED = (
    'To use a tool, write one JSON object of this form:\n{"tool": "NAME", "arguments": {"ARGUMENT": "VALUE"}}\n'
    "- bash(command): Run a command.\n- write_file(path, content): Write a file.\n- submit(answer): End the task."
)
LS = 'Let me look.\n{"tool": "bash", "arguments": {"command": "ls"}}'
TASK = {"role": "user", "content": "Please do the task\nof tests well."}


def ask(recipes, weakness, messages, *, system=DESCRIBED, model=WORKER, **keys):
    """Give the message and the finish reason of the reply to a conversation about the recipe's task."""
    body = {"model": model, "messages": [{"role": "system", "content": system}, TASK, *messages], **keys}
    reply = json.loads(answer(parse_request(json.dumps(body).encode(), MODELS), (recipes[weakness],)))
    (choice,) = reply["choices"]
    return choice["message"], choice["finish_reason"]


def said(*contents):
    """Messages of the assistant and the user in turn."""
    roles = ("assistant", "user")
    return [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)]


def test_tools_are_read_off_the_prompt():
    assert tools_in_text([{"role": "system", "content": DESCRIBED}]) == {"bash", "write_file", "submit"}
    assert tools_in_text([{"role": "user", "content": DESCRIBED}]) == set()
    assert tools_in_text([{"role": "system", "content": "- bash(command): Run a command."}]) == set()


def test_written_calls_and_what_follows_them_are_calls_and_results():
    found = read_conversation(
        as_function_calls(said(LS, "Result of bash:\na.txt", "I am done.", "Go on.", LS, "b.txt"))
    )
    assert [done.result for done in found.done] == ["Result of bash:\na.txt", "b.txt"]
    assert [done.call for done in found.done] == [bash("ls")] * 2
    assert (found.turns, found.call_count, found.latest) == (3, 2, "b.txt")


@pytest.mark.parametrize("broken", [LS[:-3], '{"tool": "bash", "arguments": "ls"}', '{"tool": 3, "arguments": {}}'])
def test_a_broken_call_is_none_and_what_follows_no_result(broken):
    found = read_conversation(as_function_calls(said(broken, "That was no call.")))
    assert (found.done, found.call_count) == ((), 0)


def test_it_acts_in_text_without_functions_and_by_functions_where_there_are_some(recipes):
    message, finish = ask(recipes, "none", [])
    assert (
        message["content"]
        == f"Let me look at what is there.\n{call_as_text('bash', json.dumps({'command': 'ls -la'}))}"
    )
    assert ("tool_calls" in message, finish) == (False, "stop")
    specs = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]
    message, finish = ask(recipes, "none", [], tools=specs)
    assert (message["tool_calls"][0]["function"]["name"], finish) == ("bash", "tool_calls")


def test_without_a_form_for_calls_it_cannot_act(recipes):
    message, _ = ask(recipes, "none", [], system="You have bash.")
    assert "I have no bash tool" in message["content"]


def test_the_optimizer_does_not_act_in_text(recipes):
    message, _ = ask(recipes, "none", [], model=OPTIMIZER)
    assert "{" not in message["content"]


def test_it_goes_on_from_results(recipes):
    look = ask(recipes, "none", [])[0]["content"]
    work = ask(recipes, "none", said(look, "Result of bash:\nfiles"))[0]["content"]
    assert recipes["none"].solve in json.loads(work[work.index("{") :])["arguments"]["command"]
    end = ask(recipes, "none", said(look, "files", work, "Result of bash:\n"))[0]["content"]
    assert json.loads(end[end.index("{") :]) == {"tool": "submit", "arguments": {"answer": "it is done"}}


def test_a_long_file_is_cut_in_its_text_and_its_pieces_are_not(recipes):
    look = said(ask(recipes, "long-write", [])[0]["content"], "files")
    cut, finish = ask(recipes, "long-write", look, max_tokens=4096)
    assert (finish, "write_file" in cut["content"]) == ("length", True)
    told = f"{DESCRIBED}\nWrite long files in several pieces."
    for limit in range(300, 330):
        piece, finish = ask(recipes, "long-write", look, system=told, max_tokens=limit)
        assert finish == "stop", limit
        json.loads(piece["content"][piece["content"].index("{") :])


def test_heat_garbles_a_long_call_in_its_text():
    move = Move("Now the work.", bash("echo " + "x y z " * 30))
    cool, hot = (utter(move, 4096, temperature, in_text=True).text for temperature in (1.0, 1.5))
    json.loads(cool[cool.index("{") :])
    with pytest.raises(ValueError, match=r"."):
        json.loads(hot[hot.index("{") :])


def test_the_form_costs_what_is_allowed_for_it():
    with_form = utter(Move("Work.", bash("ls")), None, None, in_text=True).completion_tokens
    assert with_form - utter(Move("Work.", bash("ls")), None, None).completion_tokens <= FORM_TOKENS
