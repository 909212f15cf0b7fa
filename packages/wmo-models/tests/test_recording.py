"""What is recorded of a conversation, and what a replay serves of it."""

import json
import threading

import pytest
from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.exchanges import ExchangesDocument
from wmo_kit.errors import BadDocument
from wmo_models.chat_record import unpack
from wmo_models.provider import ProviderError
from wmo_models.recording import MAX_BYTES, RecordingProvider
from wmo_models.replay import ReplayProvider

SYSTEM = {"role": "system", "content": "You act."}
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


class Echo:
    """Answers with the number of messages; fails where the last one says so."""

    def complete(self, request):
        last = request.messages[-1]["content"]
        if last == "fail":
            raise ProviderError("the endpoint answered 500", transient=True)
        call = ToolCall(id="c", name="bash", arguments=json.dumps({"command": last}))
        return ChatReply(content=str(len(request.messages)), tool_calls=(call,), finish_reason="tool_calls", model="m")


def user(text):
    return {"role": "user", "content": text}


def asking(*messages, **settings):
    return ChatRequest(messages=(SYSTEM, *messages), tools=(TOOL,), **{"temperature": 0.7, "max_tokens": 10} | settings)


def record(*requests, **options):
    """Ask them all; give the document as it is read back from its file."""
    recorder = RecordingProvider(Echo(), **options)
    for request in requests:
        try:
            recorder.complete(request)
        except ProviderError:
            continue
    return ExchangesDocument.model_validate_json(recorder.document().to_text())


def conversation(turns, text="do it"):
    messages = [user(text)]
    for turn in range(turns):
        yield asking(*messages)
        messages += [{"role": "assistant", "content": f"reply {turn}"}, user(f"result {turn}")]


def test_requests_come_back_whole_and_each_message_is_kept_once():
    requests = list(conversation(3))
    document = record(*requests)
    assert unpack(document) == tuple(requests)
    assert [len(exchange.new_messages) for exchange in document.exchanges] == [2, 2, 2]
    assert [exchange.messages for exchange in document.exchanges] == [((0, 2),), ((0, 4),), ((0, 6),)]
    assert [exchange.settings is None for exchange in document.exchanges] == [False, True, True]
    assert (document.total, document.note) == (3, "")


@pytest.mark.parametrize("turns", [20, 40])
def test_the_record_grows_with_the_conversation_not_with_its_square(turns):
    size = len(record(*conversation(turns, "x" * 50_000)).to_text())
    assert size < 2 * 50_000 + turns * 1200  # the first reply quotes the first message


def test_a_harness_that_rewrites_its_history_is_recorded_too():
    requests = [
        asking(user("a"), user("b")),
        asking(user("b"), user("b"), user("a")),  # dropped, repeated, put elsewhere
        asking(user("c"), temperature=0.1),
        asking(user("c"), temperature=0.7),
    ]
    document = record(*requests)
    assert unpack(document) == tuple(requests)
    assert document.exchanges[1].new_messages == ()
    assert document.exchanges[1].messages == ((0, 1), (2, 3), (2, 3), (1, 2))


def test_equal_conversations_give_equal_records():
    assert record(*conversation(4)).to_text() == record(*conversation(4)).to_text()


def test_failures_are_recorded_and_served_as_such():
    replay = ReplayProvider(record(asking(user("fail"))))
    with pytest.raises(ProviderError, match="answered 500") as raised:
        replay.complete(asking(user("fail")))
    assert raised.value.fault == "transient"
    assert (replay.served, replay.departure) == (1, None)


def test_a_tool_call_of_100_kb_is_kept_whole():
    replay = ReplayProvider(record(asking(user("x" * 100_000))))
    assert len(json.loads(replay.complete(asking(user("x" * 100_000))).tool_calls[0].arguments)["command"]) == 100_000


def test_what_no_file_can_hold_does_not_break_the_record():
    odd = asking(user("half a character: \ud83d"))
    replay = ReplayProvider(record(odd))
    assert replay.complete(odd).content == "2"


def test_a_record_above_its_cap_ends_with_a_marker_and_the_replay_says_so():
    requests = list(conversation(6, "x" * 1000))
    document = record(*requests, max_bytes=4500)
    kept = len(document.exchanges)
    assert 0 < kept < 6
    assert len(document.to_text()) < 5000
    assert (document.total, document.note) == (
        6,
        f"the last {6 - kept} exchanges are not here: the record ends at 4500 bytes",
    )
    replay = ReplayProvider(document)
    for request in requests[:kept]:
        replay.complete(request)
    with pytest.raises(ProviderError, match=rf"turn {kept + 1}: asked for another .* the record ends at 4500 bytes"):
        replay.complete(requests[kept])


def test_one_request_above_the_cap_leaves_none():
    document = record(asking(user("x" * MAX_BYTES)), asking(user("a")))
    assert (document.exchanges, document.total) == ((), 2)


def test_a_request_that_was_never_answered_is_kept_and_ends_the_replay():
    asked, answer = threading.Event(), threading.Event()

    class Slow(Echo):
        def complete(self, request):
            asked.set()
            answer.wait(20)
            return super().complete(request)

    recorder = RecordingProvider(Slow())
    thread = threading.Thread(target=recorder.complete, args=(asking(user("a")),))
    thread.start()
    asked.wait(20)
    document = recorder.document()
    answer.set()
    thread.join()
    assert document.exchanges[0].reply is None
    replay = ReplayProvider(document)
    with pytest.raises(ProviderError, match="no reply is recorded"):
        replay.complete(asking(user("a")))
    assert (replay.departure.kind, replay.departure.turn) == ("record_ended", 1)


def test_the_first_other_request_is_told_and_nothing_is_served_after_it():
    first, second = conversation(2)
    replay = ReplayProvider(record(first, second))
    replay.complete(first)
    for request in (asking(user("other")), second):
        with pytest.raises(ProviderError, match="replay: turn 2: messages: recorded 4, now 2"):
            replay.complete(request)
    assert (replay.served, replay.departure.kind, replay.departure.turn) == (1, "other_request", 2)


def test_a_damaged_record_is_refused():
    value = json.loads(record(*conversation(2)).to_text())
    value["exchanges"][1]["new_messages"][0]["content"] = "forged"
    with pytest.raises(BadDocument, match="turn 2 is damaged"):
        ReplayProvider(ExchangesDocument.model_validate_json(json.dumps(value)))
