"""Episodes in a world model: notes in the steps, failures as the host's, and the same again from the record."""

import json
import threading
import time

import pytest
from wmo_contracts.chat import ChatReply
from wmo_contracts.episode import Usage
from wmo_episode.patience import Patience
from wmo_episode.replay import RecordedTools, compare
from wmo_episode.session import HostFailed
from wmo_episode.world import PlayedWorld
from wmo_kit.errors import Missing, Transient
from wmo_models.deadline import Deadline
from wmo_models.provider import ProviderError
from wmo_models.recording import RecordingProvider
from wmo_models.replay import ReplayProvider
from wmo_models.trouble import Trouble, teller
from wmo_suites.nearest import RecordedSteps


def predicts(content: str, note: str) -> ChatReply:
    text = json.dumps({"content": content, "is_error": False, "state_note": note})
    return ChatReply(content=text, finish_reason="stop", model="w", usage=Usage(prompt_tokens=7, completion_tokens=1))


@pytest.fixture
def world(scripted):
    """Give a function that makes a world whose model gives these replies."""

    def make(*replies) -> PlayedWorld:
        return PlayedWorld(scripted(*replies), "a-task", "Do it.", RecordedSteps([]))

    return make


def test_every_step_keeps_the_note_as_it_was_before(make_session, world):
    place = world(predicts("a", "one"), predicts("b", "two"))
    session = make_session(place=place)
    for name, arguments in (("bash", {"command": "x"}), ("fly", {"to": "x"}), ("bash", {"command": "y"})):
        session.act(name, arguments)
    assert [step.state_before for step in session.steps] == ["", "one", "one"]
    assert place.state_note == "two"

    again = make_session(place=RecordedTools(session.steps, pytest.fail))
    for step in session.steps:
        again.act(step.action.name, step.action.arguments)
    assert [step.state_before for step in again.steps] == ["", "one", "one"]


def test_an_episode_in_a_world_is_the_same_again_from_its_record(make_runtime, scripted, says, call, world):
    worker = RecordingProvider(
        scripted(
            says(call("bash", command="one")),
            says(call("bash", command="two")),
            says(call("submit", answer="42")),
        )
    )
    place = world(predicts("first", "n1"), predicts("second", "n2"))
    result = make_runtime(worker).run("a-task", "Do it.", place)
    assert [(step.observation.content, step.state_before) for step in result.steps] == [("first", ""), ("second", "n1")]
    assert [exchange.reply.usage.prompt_tokens for exchange in place.exchanges().exchanges] == [7, 7]
    assert place.usage == Usage(calls=2, prompt_tokens=14, completion_tokens=2)
    assert result.usage.calls == 3

    again = ReplayProvider(worker.document())
    replayed = make_runtime(again).run("a-task", "Do it.", RecordedTools(result.steps, again.depart))
    assert compare(again, result, replayed).outcome == "same"


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (ProviderError("busy", transient=True), Transient),
        (ProviderError("no such model", transient=False), Missing),
        (ProviderError("too long", transient=False, by_request=True), Missing),
    ],
)
def test_a_failing_world_ends_the_episode_as_a_failure_of_the_host(make_session, world, failure, kind):
    place = world(failure)
    session = make_session(place=place)
    with pytest.raises(HostFailed):
        session.act("bash", {"command": "x"})
    assert type(session.failure) is kind
    assert str(session.failure).startswith(f"the world model failed: {failure}")
    assert ("a larger context" in str(session.failure)) is failure.by_request
    assert session.ended.is_set()
    assert session.steps == ()
    assert place.exchanges().exchanges[0].failure.message == str(failure)


def test_a_world_takes_none_of_the_agents_time_with_good_replies_bad_ones_and_troubles(make_session):
    """Also while it still takes it: the agent must not time out in the middle of a call."""
    taken = []

    class Slow:
        def complete(self, _request):
            time.sleep(0.1)
            teller("world", None)(Trouble("e", "m", "server", "500", "again", spent_s=300.0, wait_s=400.0))
            taken.append(session.lost_s())
            good = predicts("a", "")
            return good if len(taken) != 1 else good.model_copy(update={"content": "?"})

    session = make_session(place=PlayedWorld(Slow(), "a-task", "Do it.", RecordedSteps([])))
    for command in "xy":
        session.act("bash", {"command": command})
    assert len(taken) == 3
    assert 0.1 <= taken[0] < taken[1] - 0.09 < taken[2] - 0.18
    after = session.lost_s()
    assert taken[2] <= after < 100
    time.sleep(0.02)
    assert session.lost_s() == after


def test_a_world_that_outlasts_the_grace_is_no_result_of_the_agents(make_session):
    begun, release = threading.Event(), threading.Event()

    exchanges = []

    class Hanging:
        def complete(self, _request):
            with Deadline(60) as exchange:
                exchanges.append(exchange)
                begun.set()
                release.wait(30)
            return predicts("late", "")

    session = make_session(place=PlayedWorld(Hanging(), "a-task", "Do it.", RecordedSteps([])))

    def act():
        with pytest.raises(HostFailed):
            session.act("bash", {"command": "x"})

    acting = threading.Thread(target=act)
    acting.start()
    begun.wait(30)
    started = time.monotonic()
    session.close(Patience(0.05))
    acting.join(30)
    assert time.monotonic() - started < 10
    assert type(session.failure) is Transient
    assert "had not answered" in str(session.failure)
    assert exchanges[0].hung_up
    release.set()
