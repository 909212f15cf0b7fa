"""A tool call in text: what is one, and what the model is told where there is none."""

import json

import pytest
from wmo_episode.kit_python.kit import tools_text
from wmo_episode.kit_python.tool_call import BadToolCall, parse_tool_call
from wmo_harness.tool_policy import tool_specs

CALL = '{"tool": "bash", "arguments": {"command": "ls"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"Let me look.\n```json\n{CALL}\n```\nThen I go on.",
        f"The set {{a, b}} and the code `if (x) {{ y }}` are prose. {CALL}",
        f'{CALL}\n{{"tool": "submit", "arguments": {{"answer": "too early"}}}}',
        json.dumps(json.loads(CALL), indent=4),
    ],
)
def test_the_first_object_is_the_call(text):
    assert parse_tool_call(text) == ("bash", {"command": "ls"})


@pytest.mark.parametrize("text", ["", "I would look at the files.", "f(x) = { x }", "{", "[1, 2]"])
def test_prose_has_no_call(text):
    with pytest.raises(BadToolCall, match="had no tool call") as raised:
        parse_tool_call(text)
    assert raised.value.reason == "no_tool_call"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"tool": "bash", "arguments": {"command": "ls"}', "not valid JSON"),
        ('{"tool": "bash", "arguments": {"command": "a\nb"}}', "control character"),
        ('{"tool": "bash", "tool": "bash", "arguments": {}}', "twice"),
        ('{"tool": "bash", "arguments": {"n": NaN}}', "NaN"),
        ('{"tool": "bash"}', '"tool" and "arguments", and no other'),
        ('{"tool": "bash", "arguments": {}, "why": "x"}', "no other"),
        ('{"name": "bash", "arguments": {}}', '"tool"'),
        ("{}", '"tool"'),
        ('{"tool": 3, "arguments": {}}', "name of a tool"),
        ('{"tool": "bash", "arguments": "ls"}', "must be a JSON object"),
        ('{"tool": "bash", "arguments": [' + "[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_wrong_is_told(text, says):
    with pytest.raises(BadToolCall) as raised:
        parse_tool_call(text)
    assert raised.value.reason == "unparsed_tool_call"
    assert "was not executed" in str(raised.value)
    assert says.lower() in str(raised.value).lower()


def test_a_call_quoted_inside_a_broken_one_is_not_executed():
    inner = '{"tool": "bash", "arguments": {"command": "rm -rf ."}}'
    for text in (f'{{"tool": "write_file", "arguments": {{"content": {inner}}}', f'{{"broken": {inner} and {inner}'):
        with pytest.raises(BadToolCall):
            parse_tool_call(text)


def test_in_a_message_that_was_cut_nothing_is_a_call():
    with pytest.raises(BadToolCall, match="Split the work") as raised:
        parse_tool_call(CALL, cut_at=77)
    assert (raised.value.reason, "77 tokens" in str(raised.value)) == ("unparsed_tool_call", True)
    with pytest.raises(BadToolCall, match="Write less") as raised:
        parse_tool_call("I thought for long", cut_at=77)
    assert raised.value.reason == "output_truncated"


def test_the_tools_are_described_with_their_arguments():
    text = tools_text([spec.model_dump() for spec in tool_specs(["write_file", "submit"])])
    assert '{"tool": "NAME", "arguments": {"ARGUMENT": "VALUE"}}' in text
    assert "- write_file(path, content): Write a text file" in text
    assert "content: The whole new content." in text
