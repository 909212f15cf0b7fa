"""The client for one OpenAI-compatible endpoint: one request, tried again where trying again can help (design 6)."""

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential
from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.pricing import cost_of
from wmo_kit.config import Endpoint
from wmo_kit.errors import Conflict

from wmo_models.exchange import Refused, limit_key, read_response, request_body
from wmo_models.provider import ProviderError
from wmo_models.transport import Answer, NoAnswer, Transport
from wmo_models.trouble import Cause, Teller, Trouble

RETRY_AFTER_SPREAD = 0.1
"""Who was told the same wait at the same time comes back spread over this part of it."""
REQUESTS_OWN = (413,)
"""Statuses that speak of this one request, whatever their words."""


@dataclass(frozen=True)
class RetryPolicy:
    """When to give up, and how long to wait in between. All times in seconds.

    `total_s` bounds one completion with all its tries and waits, over all endpoints of a role: below the 600 s after
    which OpenAI's clients, and pi with them, give up on us. `connect_s` bounds a try's connection. Waits are random
    below an exponentially growing bound that `wait_cap_s` caps; an endpoint's Retry-After wins.
    """

    attempts: int = 6
    connect_s: float = 10.0
    total_s: float = 540.0
    wait_first_s: float = 1.0
    wait_cap_s: float = 30.0


class EndpointFailed(ProviderError):
    """One endpoint gave no reply. `status`: its HTTP status, 0 where none came.

    `retry_after_s` is how long the endpoint asks us to wait, None where it does not say.
    """

    def __init__(
        self,
        message: str,
        cause: Cause,
        *,
        transient: bool,
        status: int = 0,
        retry_after_s: float | None = None,
        spent_s: float = 0.0,
    ) -> None:
        super().__init__(message, transient=transient, by_request=cause == "overflow" or status in REQUESTS_OWN)
        self.cause, self.status = cause, status
        self.retry_after_s, self.spent_s = retry_after_s, spent_s


class OpenAIClient:
    """A Provider over one endpoint. Threads share it."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str,
        policy: RetryPolicy | None = None,
        *,
        name: str | None = None,
        tell: Teller | None = None,
    ) -> None:
        """`key` is sent as the bearer token; "" sends none. `name` stands for the base URL in messages.

        `tell` is told of a failed try before the wait for the next. Raises Conflict for a key that no header can hold
        and for a base URL that is none.
        """
        if not (key.isascii() and key.isprintable()):
            raise Conflict(f"the API key in '{endpoint.api_key_env}' is unusable: it has a line break or no ASCII text")
        self.endpoint = endpoint
        self.name = name or endpoint.base_url
        self._policy = policy or RetryPolicy()
        self._tell = tell or (lambda _trouble: None)
        self._transport = Transport(endpoint.base_url, key, self.name)
        self._limit_key = limit_key(self._transport.host)

    def complete(
        self, request: ChatRequest, *, within_s: float | None = None, attempts: int | None = None
    ) -> ChatReply:
        """Give the endpoint's reply.

        `within_s` and `attempts` are bounds below the policy's own. Raises EndpointFailed once trying again cannot
        help or a bound is reached.
        """
        policy = self._policy
        deadline = time.monotonic() + min(policy.total_s, within_s or policy.total_s)
        tries = min(policy.attempts, attempts or policy.attempts)

        def used_up(state: RetryCallState) -> bool:
            return state.attempt_number >= tries or time.monotonic() + state.upcoming_sleep > deadline

        def announce(state: RetryCallState) -> None:
            self._tell(self._trouble(_failure(state), state.attempt_number + 1, tries, state.upcoming_sleep))

        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.transient),
            stop=used_up,
            wait=self._wait,
            before_sleep=announce,
            reraise=True,
        )
        return retrying(self._try, request, deadline)

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._transport.close()

    def _wait(self, state: RetryCallState) -> float:
        asked = _failure(state).retry_after_s
        if asked is not None:
            return asked * (1 + random.uniform(0, RETRY_AFTER_SPREAD))
        policy = self._policy
        return wait_random_exponential(multiplier=policy.wait_first_s, max=policy.wait_cap_s)(state)

    def _try(self, request: ChatRequest, deadline: float) -> ChatReply:
        started = time.monotonic()
        within_s = max(min(deadline - started, self.endpoint.timeout_s), 0.001)
        body = request_body(request, self.endpoint.model, self._limit_key)
        try:
            answer = self._transport.post(body, within_s=within_s, connect_s=self._policy.connect_s)
        except NoAnswer as error:
            raise self._failed(error, started) from error
        try:
            reply = read_response(answer.status, answer.body)
        except Refused as error:
            raise self._failed(error, started, answer) from error
        reply = ChatReply.model_validate(self._scrubbed(reply.model_dump()))  # it is kept, and read by proposers
        one = self.endpoint
        cost = cost_of(reply.usage, one.price_in, one.price_out, one.price_cached)
        return reply.model_copy(update={"usage": reply.usage.model_copy(update={"cost": cost})})

    def _scrubbed(self, value: Any) -> Any:
        """Take the key out of every text of a reply: an endpoint may repeat its request's headers in one."""
        if isinstance(value, str):
            return self._transport.scrub(value)
        if isinstance(value, dict):
            return {name: self._scrubbed(item) for name, item in value.items()}
        if isinstance(value, tuple):
            return tuple(self._scrubbed(item) for item in value)
        return value

    def _failed(self, error: NoAnswer | Refused, started: float, answer: Answer | None = None) -> EndpointFailed:
        """Name the endpoint, and keep the key out."""
        what = str(error)
        if self.name not in what:
            what = f"model '{self.endpoint.model}' at '{self.name}': {what}"
        return EndpointFailed(
            self._transport.scrub(what),
            error.cause,
            transient=error.transient,
            status=error.status if isinstance(error, Refused) else 0,
            retry_after_s=retry_after(answer.headers, time.time()) if answer else None,
            spent_s=time.monotonic() - started,
        )

    def _trouble(self, failure: EndpointFailed, attempt: int, tries: int, wait_s: float) -> Trouble:
        return Trouble(
            self.name,
            self.endpoint.model,
            failure.cause,
            str(failure),
            f"try {attempt} of {tries} in {wait_s:.1f} s",
            failure.spent_s,
            wait_s,
        )


def retry_after(headers: dict[str, str], now: float) -> float | None:
    """Give the seconds, 0 or more, that response headers (lower-case names) ask to wait; None where they ask nothing.

    A date is compared with the response's own Date, by the same clock; with `now` (seconds since 1970) where it has
    none.
    """
    text = headers.get("retry-after", "").strip()
    if seconds := _number(headers.get("retry-after-ms", "")):  # OpenAI's own, more exact
        return seconds / 1000
    if (seconds := _number(text)) is not None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    sent = _date(headers.get("date", ""))
    return max(until - (now if sent is None else sent), 0.0)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _failure(state: RetryCallState) -> EndpointFailed:
    """Give the failure of the last try: whatever else is raised is not tried again."""
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, EndpointFailed):
        raise AssertionError("only an EndpointFailed is tried again") from failure
    return failure
