"""What an endpoint sends can be written down, whatever it sends."""

import json

import pytest
from wmo_models.exchange import Refused, read_response


def response(message):
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def test_a_reply_with_half_a_character_has_a_whole_one_in_its_place():
    call = {"id": "1", "function": {"name": "bash\ud83d", "arguments": '{"command": "echo \ud83d"}'}}
    reply = read_response(200, response({"content": "so \ude00", "tool_calls": [call]}))
    assert (reply.content, reply.tool_calls[0].name) == ("so \ufffd", "bash\ufffd")
    assert json.loads(reply.tool_calls[0].arguments) == {"command": "echo \ufffd"}


def test_arguments_sent_as_an_object_are_mended_too():
    call = {"id": "1", "function": {"name": "bash", "arguments": {"command": "echo \ud83d"}}}
    reply = read_response(200, response({"tool_calls": [call]}))
    assert json.loads(reply.tool_calls[0].arguments) == {"command": "echo \ufffd"}


def test_an_error_with_half_a_character_or_broken_utf8_can_be_quoted():
    for body in (b'{"error": {"message": "no \\ud83d"}}', b'{"error": {"message": "no \xed\xa0\xbd"}}', b"no \xff"):
        with pytest.raises(Refused) as caught:
            read_response(400, body)
        assert "no \ufffd" in str(caught.value)
        str(caught.value).encode()


@pytest.mark.parametrize("choice", [{"message": None}, {"text": "x"}, None, "text", []])
def test_a_reply_without_a_message_is_said_in_plain_words(choice):
    with pytest.raises(Refused, match=r"no valid choice \(its first choice has no message\)"):
        read_response(200, json.dumps({"choices": [choice]}).encode())
