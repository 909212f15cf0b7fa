"""A role's endpoints in a waterfall: who is asked when, who is blamed, and what is told of it."""

import json
from contextlib import ExitStack, contextmanager

import pytest
from faulty_endpoint import endpoint, nobody, reply
from wmo_contracts.chat import ChatRequest
from wmo_kit.config import Config, Endpoint, RoleModel, Roles
from wmo_kit.errors import Missing
from wmo_kit.log import Log
from wmo_models.client import OpenAIClient, RetryPolicy
from wmo_models.endpoint import open_provider
from wmo_models.failover import Waterfall
from wmo_models.provider import ProviderError
from wmo_models.trouble import listening, teller

REQUEST = ChatRequest(
    messages=({"role": "user", "content": "hello"},),
    tools=({"type": "function", "function": {"name": "odd"}},),
    temperature=1.5,
    max_tokens=9000,
)
QUICK = RetryPolicy(attempts=4, connect_s=5, total_s=10, wait_first_s=0.001, wait_cap_s=0.01)
OK = reply("fine")
BUSY = (503, {}, {"error": {"message": "busy"}})
BROKEN = (500, {}, {"error": {"message": "Failed to parse tool call arguments as JSON", "type": "server_error"}})
BAD = (400, {}, {"error": {"message": "roles must alternate"}})


@contextmanager
def waterfall(*urls: str, policy=QUICK, tell=None):
    clients = [
        OpenAIClient(Endpoint(base_url=url, model=f"m{number}", timeout_s=1.0), "", policy, tell=tell)
        for number, url in enumerate(urls)
    ]
    provider = Waterfall(clients, policy, tell)
    try:
        yield provider
    finally:
        provider.close()


def failure(provider, request=REQUEST) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider.complete(request)
    return caught.value


@pytest.mark.parametrize("plan", [BUSY, "hang", "reset", "half", (429, {"Retry-After": "3600"}, {}), None])
def test_the_next_endpoint_takes_over(plan):
    told = []
    with ExitStack() as stack:
        first = stack.enter_context(endpoint(plan)).url if plan else nobody()
        second = stack.enter_context(endpoint(OK))
        with waterfall(first, second.url, tell=told.append) as provider:
            assert provider.complete(REQUEST).content == "fine"
            assert second.requests[0]["model"] == "m1"
    assert told[-1].next_step == f"going on with model 'm1' at '{second.url}'"
    assert first in told[-1].message


def test_an_endpoint_that_failed_is_asked_last_for_a_while():
    with endpoint(BUSY) as first, endpoint(OK) as second, waterfall(first.url, second.url) as provider:
        provider.complete(REQUEST)
        assert len(first.requests) == QUICK.attempts // 2
        provider.complete(REQUEST)
        assert (len(first.requests), len(second.requests)) == (QUICK.attempts // 2, 2)


def test_one_that_rests_is_asked_where_the_others_fail():
    with endpoint(BUSY, BUSY, OK) as first, endpoint(OK, BUSY) as second, waterfall(first.url, second.url) as provider:
        provider.complete(REQUEST)
        assert provider.complete(REQUEST).content == "fine"
        assert (len(first.requests), len(second.requests)) == (3, 3)


def test_where_all_fail_each_one_is_named():
    first, second = nobody(), nobody()
    with waterfall(first, second) as provider:
        error = failure(provider)
    assert (error.transient, error.code) == (True, 75)
    words = f"cannot connect to '{first}': connection refused; cannot connect to '{second}': connection refused"
    assert str(error) == words


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_raised_at_once_and_never_passed_on(status):
    refusal = (status, {}, {"error": {"message": "not like this"}})
    with endpoint(refusal) as first, endpoint(OK) as second, waterfall(first.url, second.url) as provider:
        error = failure(provider)
        assert (error.fault, error.code) == ("endpoint", 69)
        assert f"model 'm0' at '{first.url}': the endpoint answered {status}: not like this" == str(error)
        assert second.requests == []


def test_an_overflow_is_the_requests_own_and_never_passed_on():
    full = (400, {}, {"error": {"message": "too long", "code": "context_length_exceeded"}})
    with endpoint(full) as first, endpoint(OK) as second, waterfall(first.url, second.url) as provider:
        error = failure(provider)
        assert (error.fault, len(first.requests), len(second.requests)) == ("request", 1, 0)
    assert "the context is full, the endpoint answered 400: too long" in str(error)


@pytest.mark.parametrize("status", [400, 422])
def test_who_answers_a_plain_request_refused_this_one_for_itself(status):
    def plan(number, _body):
        return OK if number else (status, {}, BAD[2])

    with endpoint(plan) as server, waterfall(server.url) as provider:
        error = failure(provider)
        assert (error.fault, str(error).endswith("roles must alternate")) == ("request", True)
        assert len(server.requests) == 2
    plain = server.requests[1]
    assert plain["messages"] == [{"role": "user", "content": "Say ok."}]
    assert (plain["temperature"], plain["max_tokens"], len(plain["tools"])) == (0.7, 16, 1)


@pytest.mark.parametrize("plan", [BAD, BUSY, "hang"])
def test_who_does_not_answer_a_plain_request_either_is_to_blame(plan):
    with endpoint(BAD, plan) as server, waterfall(server.url) as provider:
        assert failure(provider).fault == "endpoint"


@pytest.mark.parametrize(
    ("plan", "again", "fault"),
    [(OK, BROKEN, "request"), (OK, BUSY, "transient"), (BROKEN, BROKEN, "transient"), (OK, OK, None)],
)
def test_a_request_that_alone_breaks_a_well_endpoint_is_to_blame_for_it(plan, again, fault):
    def plans(number, body):
        plain = body["messages"][-1]["content"] == "Say ok."
        return plan if plain else again if number > QUICK.attempts else BROKEN

    with endpoint(plans) as server, waterfall(server.url) as provider:
        if fault is None:
            assert provider.complete(REQUEST).content == "fine"
        else:
            assert failure(provider).fault == fault


def test_a_plain_request_has_a_system_message_where_the_refused_one_has():
    system = {"role": "system", "content": "You act."}
    with endpoint(BAD) as server, waterfall(server.url) as provider:
        request = REQUEST.model_copy(update={"messages": (system, *REQUEST.messages)})
        assert failure(provider, request).fault == "endpoint"
    assert [message["role"] for message in server.requests[1]["messages"]] == ["system", "user"]


def test_the_total_time_is_shared_between_endpoints():
    policy = RetryPolicy(attempts=100, total_s=4.0, wait_first_s=0.001, wait_cap_s=0.01)
    with endpoint("hang") as first, endpoint(OK) as second, waterfall(first.url, second.url, policy=policy) as provider:
        assert provider.complete(REQUEST).content == "fine"
        assert 1 <= len(first.requests) <= 3


def test_who_waits_is_told_before_the_wait():
    heard = []
    busy = (429, {"Retry-After": "0.05"}, {})
    with endpoint(busy, OK) as server, waterfall(server.url, tell=teller("worker", None)) as provider:
        with listening(heard.append):
            provider.complete(REQUEST)
        provider.complete(REQUEST)
    assert [trouble.cause for trouble in heard] == ["rate_limit"]
    assert 0.05 <= heard[0].wait_s <= 0.056


def test_each_wait_is_one_line_on_the_log(capsys):
    with endpoint(BUSY, OK) as server, waterfall(server.url, tell=teller("worker", Log("wmo-score"))) as provider:
        provider.complete(REQUEST)
    (line,) = capsys.readouterr().err.splitlines()
    start = f"wmo-score: worker: model 'm0' at '{server.url}': the endpoint answered 503: busy; try 2 of 4 in 0.0 s"
    assert line == start
    with endpoint(BUSY, OK) as server, waterfall(server.url, tell=teller("judge", Log("x", as_json=True))) as provider:
        provider.complete(REQUEST)
    entry = json.loads(capsys.readouterr().err)
    assert (entry["event"], entry["role"], entry["class"], entry["seconds"]) == ("retry", "judge", "server", 0.0)
    assert (entry["endpoint"], entry["model"]) == (server.url, "m0")


def test_whether_any_endpoint_answers():
    with endpoint("hang") as first, endpoint(OK) as second:
        with waterfall(first.url, second.url) as provider:
            assert provider.answers()
        with waterfall(first.url, nobody()) as provider:
            assert not provider.answers()


def test_a_configured_waterfall_is_opened_whole(monkeypatch):
    monkeypatch.setenv("KEY_A", "sk-aaaaaaaa")
    monkeypatch.delenv("KEY_B", raising=False)
    with endpoint((429, {"Retry-After": "3600"}, {})) as first, endpoint(OK) as second:
        fallback = Endpoint(base_url=second.url, model="n", api_key_env="")
        worker = RoleModel(base_url=first.url, model="m", api_key_env="KEY_A", fallbacks=(fallback,))
        with open_provider(Config(roles=Roles(worker=worker)), "worker") as provider:
            assert provider.complete(REQUEST).content == "fine"
        assert (first.heads[0][1], second.heads[0][1]) == ("Bearer sk-aaaaaaaa", None)
        worker = worker.model_copy(update={"fallbacks": (fallback.model_copy(update={"api_key_env": "KEY_B"}),)})
        with pytest.raises(Missing, match="KEY_B"), open_provider(Config(roles=Roles(worker=worker)), "worker"):
            pass
