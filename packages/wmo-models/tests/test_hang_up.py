"""Hanging up on a model that is being asked."""

import threading

import pytest
from faulty_endpoint import endpoint, reply
from wmo_contracts.chat import ChatRequest
from wmo_kit.config import Endpoint
from wmo_models.client import OpenAIClient, RetryPolicy
from wmo_models.deadline import HangUp, HungUp
from wmo_models.failover import Waterfall
from wmo_models.recording import RecordingProvider

REQUEST = ChatRequest(messages=({"role": "user", "content": "hello"},))
QUICK = RetryPolicy(attempts=2, wait_first_s=0.001, wait_cap_s=0.01)


@pytest.mark.parametrize("plan", ["babble", "drip", (503, {"Retry-After": "0.3"}, {})])
def test_it_ends_the_exchange_is_no_failure_and_nothing_is_asked_again(plan):
    line, asked = HangUp(), threading.Event()

    def plans(number, _body):
        asked.set()
        return reply("too late") if number else plan

    with endpoint(plans) as server:
        provider = Waterfall([OpenAIClient(Endpoint(base_url=server.url, model="m"), "", QUICK)], QUICK)
        recording = RecordingProvider(provider)
        hanging_up = threading.Thread(target=lambda: asked.wait() and line.ask())
        hanging_up.start()
        with line.covering(), pytest.raises(HungUp):
            recording.complete(REQUEST)
        hanging_up.join()
        with line.covering(), pytest.raises(HungUp):
            provider.complete(REQUEST)
        assert len(server.requests) == 1
        assert provider.complete(REQUEST).content == "too late"
        provider.close()
    (exchange,) = recording.document().exchanges
    assert (exchange.reply, exchange.failure) == (None, None)
