import threading

import pytest
from wmo_contracts.chat import ChatRequest
from wmo_contracts.episode import Observation, Usage
from wmo_episode.patience import Patience
from wmo_episode.session import (
    BUDGET_EXHAUSTED,
    CALLS_TOO_LARGE,
    EPISODE_OVER,
    MAX_STEPS,
    MAX_STEPS_SIZE,
    BudgetSpent,
    Done,
    HostFailed,
)
from wmo_kit.errors import Missing
from wmo_models.provider import ProviderError

REQUEST = ChatRequest(messages=({"role": "user", "content": "hi"},))


def test_actions_are_steps_in_order(make_session, environment):
    session = make_session()
    assert session.act("bash", {"command": "a"}) == Observation(content="ran a", exit_code=0)
    session.act("bash", '{"command": "b"}')
    assert [step.action.arguments for step in session.steps] == [{"command": "a"}, {"command": "b"}]
    assert {step.task for step in session.steps} == {"a-task"}
    assert len(environment.actions) == 2


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("bash", "{", "not JSON"),
        ("bash", "[]", "object"),
        ("bash", {}, "'command'"),
        ("bash", {"command": 3}, "'command'"),
        ("fly", {}, "unknown tool 'fly': known are bash, read_file"),
        ("read_skill", {"name": "swim"}, "unknown skill 'swim': known are count-rows"),
        ("submit", {"answer": "x"}, "/done"),
    ],
)
def test_a_bad_call_is_an_error_observation_and_costs_no_action(make_session, environment, name, arguments, says):
    session = make_session(max_env_actions=1)
    observation = session.act(name, arguments)
    assert observation.is_error
    assert says in observation.content
    assert environment.actions == []
    assert session.steps[0].observation == observation
    assert not session.act("bash", {"command": "a"}).is_error


def test_a_skill_is_read_from_the_library(make_session, environment):
    assert make_session().act("read_skill", {"name": "count-rows"}) == Observation(content="wc -l")
    assert environment.actions == []


def test_past_the_budget_the_environment_is_left_alone(make_session, environment):
    session = make_session(max_env_actions=2)
    answers = [session.act("bash", {"command": str(number)}) for number in range(4)]
    assert [answer.content for answer in answers[2:]] == [BUDGET_EXHAUSTED] * 2
    assert all(answer.is_error for answer in answers[2:])
    assert len(environment.actions) == 2
    assert len(session.steps) == 4


def test_parallel_calls_are_serialised(make_session, environment):
    running, most = 0, 0

    def execute(action):
        nonlocal running, most
        running += 1
        most = max(most, running)
        threading.Event().wait(0.002)
        running -= 1
        return Observation(content="")

    environment.execute = execute
    session = make_session(max_env_actions=10)
    threads = [threading.Thread(target=session.act, args=("bash", {"command": "x"})) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert sum(step.observation.content == BUDGET_EXHAUSTED for step in session.steps) == 10


def test_a_hammering_agent_does_not_grow_the_result(make_session):
    session = make_session()
    for _ in range(MAX_STEPS + 5):
        session.act("fly", {})
    assert len(session.steps) == MAX_STEPS


def test_large_calls_do_not_grow_the_result_without_bound(make_session):
    session = make_session(max_env_actions=1)
    given = [session.act("bash", {"command": "x" * (MAX_STEPS_SIZE // 10)}).content for _ in range(12)]
    assert given[1] == BUDGET_EXHAUSTED
    assert given[-3:] == [CALLS_TOO_LARGE] * 3
    assert sum(len(step.action.arguments["command"]) for step in session.steps) < MAX_STEPS_SIZE


def test_signal_is_the_hosts_view_of_the_last_completion(make_session, scripted, says, call):
    session = make_session(
        scripted(says(call("bash", command="ls")), says(call("bash", command="ls"), finish="length"))
    )
    nothing = {"finish_reason": None, "unparsed_tool_calls": 0, "provider_error": None, "tool_call_turns": 0}
    assert session.signal() == nothing
    session.complete(REQUEST)
    assert session.signal() == nothing | {"finish_reason": "tool_calls", "tool_call_turns": 1}
    session.complete(REQUEST)
    assert session.signal() == nothing | {"finish_reason": "length", "unparsed_tool_calls": 1, "tool_call_turns": 1}
    assert session.usage == Usage(calls=2, prompt_tokens=20, completion_tokens=4)


def test_a_provider_error_is_remembered_and_no_more_is_bought(make_session, scripted, says):
    provider = scripted(ProviderError("endpoint down", transient=True), says(text="hi"))
    session = make_session(provider)
    for _ in range(3):
        with pytest.raises(ProviderError):
            session.complete(REQUEST)
    assert len(provider.requests) == 1
    assert session.signal()["provider_error"] == str(session.provider_error) == "endpoint down"


def test_only_the_first_done_counts_and_nothing_acts_after_it(make_session, environment):
    session = make_session()
    session.finish(Done("a", "submit"))
    session.finish(Done("b", "max_turns"))
    assert session.done == Done("a", "submit")
    assert session.act("bash", {"command": "x"}).content == EPISODE_OVER
    assert environment.actions == []
    assert session.steps == ()


def test_an_environment_that_breaks_ends_the_episode_and_is_no_observation(make_session, environment):
    broken = Missing("no sandbox")

    def execute(_action):
        raise broken

    environment.execute = execute
    session = make_session()
    with pytest.raises(HostFailed):
        session.act("bash", {"command": "x"})
    assert session.failure is broken
    assert session.ended.is_set()
    assert session.steps == ()


def test_a_model_client_that_breaks_ends_the_episode(make_session, scripted):
    session = make_session(scripted())  # no reply at all: an IndexError inside
    with pytest.raises(HostFailed):
        session.complete(REQUEST)
    assert isinstance(session.failure, IndexError)


def test_closing_waits_for_the_action_in_progress(make_session, environment):
    inside, go_on = threading.Event(), threading.Event()

    def execute(_action):
        inside.set()
        go_on.wait(5)
        return Observation(content="late")

    environment.execute = execute
    session = make_session()
    acting = threading.Thread(target=session.act, args=("bash", {"command": "x"}))
    acting.start()
    inside.wait(5)
    closing = threading.Thread(target=session.close, args=(Patience(5.0),))
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go_on.set()
    closing.join(5)
    assert [step.observation.content for step in session.steps] == ["late"]
    assert not environment.closed
    assert session.act("bash", {"command": "y"}).content == EPISODE_OVER
    acting.join()


def test_an_action_that_outlasts_the_patience_loses_its_environment(make_session, environment):
    inside, closed = threading.Event(), threading.Event()

    def execute(_action):
        inside.set()
        closed.wait(5)
        return Observation(content="ended by close", is_error=True)

    environment.execute, environment.close = execute, closed.set
    session = make_session()
    acting = threading.Thread(target=session.act, args=("bash", {"command": "x"}))
    acting.start()
    inside.wait(5)
    session.close(Patience(0.01))
    acting.join(5)
    assert closed.is_set()
    assert not acting.is_alive()


def test_one_model_call_too_many_ends_the_episode_where_calls_are_limited(make_session, scripted, says):
    session = make_session(scripted(says(text="hm")), max_model_calls=2)
    for _ in range(2):
        session.complete(REQUEST)
    assert not session.ended.is_set()
    with pytest.raises(BudgetSpent, match="used all 2 model calls"):
        session.complete(REQUEST)
    assert (session.done.reason, session.usage.calls) == ("budget", 2)
    assert session.ended.is_set()
    session.finish(Done("42", "submit"))
    assert session.done.reason == "budget"


def test_so_does_one_action_too_many(make_session, environment):
    session = make_session(max_model_calls=2, max_env_actions=1)
    session.act("bash", {"command": "a"})
    assert session.act("bash", {"command": "b"}).content == BUDGET_EXHAUSTED
    assert (session.done.reason, session.ended.is_set(), len(session.steps)) == ("budget", True, 2)
    assert session.act("bash", {"command": "c"}).content == EPISODE_OVER
    assert [action.arguments["command"] for action in environment.actions] == ["a"]
