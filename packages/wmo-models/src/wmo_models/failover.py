"""A role's endpoints as one Provider: the next takes over where one fails, and blame goes where it belongs."""

import threading
import time
from collections.abc import Sequence

from wmo_contracts.chat import ChatReply, ChatRequest

from wmo_models.client import EndpointFailed, OpenAIClient, RetryPolicy
from wmo_models.provider import ProviderError
from wmo_models.trouble import Teller, Trouble

REST_S = 60.0
"""How long an endpoint that used up its tries is asked last."""
PATIENCE = 2
"""An endpoint that is not the last gets this part of the tries: the next may answer at once."""
DOUBTFUL_STATUSES = (400, 422)
"""They speak of the request, which may be the agent's own failing or follow from how the endpoint is configured."""
BROKEN_STATUS = 500
"""Mostly an outage; llama.cpp and others also answer so to what they cannot put into the model's template."""
PROBE_TEMPERATURE = 0.7
PROBE_TOKENS = 16
PROBE_WITHIN_S = 30.0
PROBE_TRIES = 2
PROBE_SYSTEM = ({"role": "system", "content": "You answer in one word."},)
PROBE_TOOL = {
    "type": "function",
    "function": {
        "name": "noop",
        "description": "Do nothing.",
        "parameters": {"type": "object", "properties": {}},
    },
}


class Waterfall:
    """A Provider over one endpoint or several, asked in order. Threads share it."""

    def __init__(
        self, clients: Sequence[OpenAIClient], policy: RetryPolicy | None = None, tell: Teller | None = None
    ) -> None:
        self._clients = tuple(clients)
        self._policy = policy or RetryPolicy()
        self._tell = tell or (lambda _trouble: None)
        self._lock = threading.Lock()
        self._rests_until = dict.fromkeys(range(len(self._clients)), 0.0)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the reply of the first endpoint that has one, within the policy's total time.

        Raises ProviderError: at once where an endpoint refuses, with its own words; once all have failed, with each
        one's.
        """
        deadline = time.monotonic() + self._policy.total_s
        order = self._order()
        failures: list[EndpointFailed] = []
        for place, number in enumerate(order):
            others = len(order) - place - 1
            try:
                return self._clients[number].complete(
                    request,
                    within_s=max(deadline - time.monotonic(), 0.001) / (others + 1),
                    attempts=max(self._policy.attempts // PATIENCE, 1) if others else None,
                )
            except EndpointFailed as failure:
                if not failure.transient:
                    raise self._blamed(self._clients[number], failure, request) from failure
                failures.append(failure)
                self._rest(number, failure)
                if others:
                    self._tell(_passing_on(self._clients[number], failure, self._clients[order[place + 1]]))
        if all(failure.status == BROKEN_STATUS for failure in failures):
            return self._last_word(self._clients[order[-1]], failures, request, deadline)
        raise _all_failed(failures) from failures[-1]

    def _last_word(
        self, client: OpenAIClient, failures: Sequence[EndpointFailed], request: ChatRequest, deadline: float
    ) -> ChatReply:
        """Ask once more where a plain request of the same kind is answered: broken again, it is the request's failing.

        Else an agent whose requests break the endpoint would stop a run for ever, as an outage that never passes.
        """
        if not _answers(client, request):
            raise _all_failed(failures) from failures[-1]
        try:
            return client.complete(request, within_s=max(deadline - time.monotonic(), 0.001), attempts=1)
        except EndpointFailed as failure:
            if failure.status != BROKEN_STATUS:
                raise
            raise ProviderError(str(failure), transient=False, by_request=True) from failure

    def answers(self) -> bool:
        """Say whether any endpoint answers a short question, within PROBE_WITHIN_S each."""
        return any(_answers(client, ChatRequest(messages=(), max_tokens=PROBE_TOKENS)) for client in self._clients)

    def close(self) -> None:
        """Close the connections that are kept open."""
        for client in self._clients:
            client.close()

    def _order(self) -> list[int]:
        """Give the endpoints' numbers as they are configured, those that rest last."""
        now = time.monotonic()
        with self._lock:
            return sorted(self._rests_until, key=lambda number: (self._rests_until[number] > now, number))

    def _rest(self, number: int, failure: EndpointFailed) -> None:
        with self._lock:
            self._rests_until[number] = time.monotonic() + max(REST_S, failure.retry_after_s or 0.0)

    def _blamed(self, client: OpenAIClient, failure: EndpointFailed, request: ChatRequest) -> ProviderError:
        """Find out whose failing a refusal is: where a plain request of the same kind is answered, it is this one's.

        Else an agent that builds wrong requests would stop a run for ever, as if its endpoint were misconfigured.
        """
        if failure.status not in DOUBTFUL_STATUSES or failure.by_request:
            return failure
        if _answers(client, request):
            return ProviderError(str(failure), transient=False, by_request=True)
        return failure


def _all_failed(failures: Sequence[EndpointFailed]) -> ProviderError:
    return ProviderError("; ".join(str(failure) for failure in failures), transient=True)


def _answers(client: OpenAIClient, like: ChatRequest) -> bool:
    """Say whether an endpoint answers a plain, short request that has what the request `like` has."""
    instructed = any(message.get("role") == "system" for message in like.messages)
    plain = ChatRequest(
        messages=(*(PROBE_SYSTEM if instructed else ()), {"role": "user", "content": "Say ok."}),
        tools=(PROBE_TOOL,) if like.tools else (),
        temperature=None if like.temperature is None else PROBE_TEMPERATURE,
        max_tokens=None if like.max_tokens is None else PROBE_TOKENS,
    )
    try:
        client.complete(plain, within_s=PROBE_WITHIN_S, attempts=PROBE_TRIES)
    except EndpointFailed:
        return False
    return True


def _passing_on(client: OpenAIClient, failure: EndpointFailed, following: OpenAIClient) -> Trouble:
    return Trouble(
        client.name,
        client.endpoint.model,
        failure.cause,
        str(failure),
        f"going on with model '{following.endpoint.model}' at '{following.name}'",
        failure.spent_s,
        0.0,
    )
