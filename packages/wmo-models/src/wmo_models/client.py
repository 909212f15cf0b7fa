"""The client for any OpenAI-compatible endpoint: one request, tried again where trying again can help (design 6)."""

import time
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
    wait_random_exponential,
)
from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_kit.config import OFFLINE, Endpoint
from wmo_kit.errors import Conflict

from wmo_models.exchange import limit_key, read_response, request_body
from wmo_models.provider import ProviderError

CHUNK_BYTES = 4096
CONNECTIONS = 32
"""Connections kept open per client: as many as threads are expected to use one."""
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class RetryPolicy:
    """When to give up, and how long to wait in between. All times in seconds.

    `total_s` bounds one completion with all its tries and waits, `attempt_s` one try, `connect_s` its connection.
    Waits are random below an exponentially growing bound that `wait_cap_s` caps; an endpoint's Retry-After wins.
    """

    attempts: int = 6
    connect_s: float = 10.0
    attempt_s: float = 300.0
    total_s: float = 600.0
    wait_first_s: float = 1.0
    wait_cap_s: float = 30.0


class _Failed(ProviderError):
    """One try failed. `retry_after_s` is how long the endpoint asks us to wait, None where it does not say."""

    def __init__(self, message: str, *, transient: bool, retry_after_s: float | None = None) -> None:
        super().__init__(message, transient=transient)
        self.retry_after_s = retry_after_s


class OpenAIClient:
    """A Provider over one endpoint. Threads share it: its connection pool is safe for them, and it keeps no cookies."""

    def __init__(self, endpoint: Endpoint, key: str, policy: RetryPolicy | None = None) -> None:
        """`key` is sent as the bearer token; "" sends none.

        Raises Conflict for a key that no header can hold and for a base URL that is none.
        """
        if not (key.isascii() and key.isprintable()):
            raise Conflict(f"the API key in '{endpoint.api_key_env}' is unusable: it has a line break or no ASCII text")
        self._endpoint = endpoint
        self._url = endpoint.base_url.rstrip("/") + "/chat/completions"
        self._policy = policy or RetryPolicy()
        self._auth = _Bearer(key)
        host = _host(endpoint.base_url)
        self._limit_key = limit_key(host)
        self._session = _session(loopback=host in LOOPBACK_HOSTS)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the endpoint's reply. Raises ProviderError once trying again cannot help or the policy is used up."""
        deadline = time.monotonic() + self._policy.total_s
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.transient),
            stop=stop_any(stop_after_attempt(self._policy.attempts), stop_before_delay(self._policy.total_s)),
            wait=self._wait,
            reraise=True,
        )
        return retrying(self._try, request, deadline)

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._session.close()

    def _wait(self, state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        if isinstance(failure, _Failed) and failure.retry_after_s is not None:
            return failure.retry_after_s
        policy = self._policy
        return wait_random_exponential(multiplier=policy.wait_first_s, max=policy.wait_cap_s)(state)

    def _try(self, request: ChatRequest, deadline: float) -> ChatReply:
        until = min(deadline, time.monotonic() + self._policy.attempt_s)
        try:
            status, body, retry_after_s = self._post(request, until)
        except requests.exceptions.SSLError as error:
            raise self._failed(f"the connection is not trusted ({error})", transient=False) from error
        except requests.Timeout as error:
            raise self._failed(f"no answer in time ({error})", transient=True) from error
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
            raise self._failed(f"the connection failed ({error})", transient=True) from error
        except requests.RequestException as error:
            raise self._failed(str(error), transient=False) from error
        try:
            return read_response(status, body)
        except ProviderError as error:
            raise self._failed(str(error), transient=error.transient, retry_after_s=retry_after_s) from error

    def _post(self, request: ChatRequest, until: float) -> tuple[int, bytes, float | None]:
        """Send one request; give status, body and the wait that the endpoint asks for. Raises RequestException."""
        left = max(until - time.monotonic(), 0.001)
        with self._session.post(
            self._url,
            json=request_body(request, self._endpoint.model, self._limit_key),
            auth=self._auth,
            timeout=(min(self._policy.connect_s, left), left),
            allow_redirects=False,
            stream=True,  # requests' timeout bounds the gap between two packets, not the whole answer: see below
        ) as response:
            body = bytearray()
            for chunk in response.iter_content(CHUNK_BYTES):
                body += chunk
                if time.monotonic() > until:
                    raise requests.Timeout("the answer came too slowly")
            return response.status_code, bytes(body), _seconds(response.headers.get("Retry-After"))

    def _failed(self, what: str, *, transient: bool, retry_after_s: float | None = None) -> _Failed:
        """Name the endpoint, and keep the key out: some endpoints quote it in their message."""
        message = f"model '{self._endpoint.model}' at '{self._endpoint.base_url}': {self._auth.scrub(what)}"
        return _Failed(message, transient=transient, retry_after_s=retry_after_s)


SECRET_CHARS = 8
"""A shorter key is none ("none", "x"): taking it out of messages would only garble them."""


class _Bearer(AuthBase):
    """Sets the bearer token. An explicit auth also keeps requests from taking another one out of ~/.netrc."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def scrub(self, text: str) -> str:
        return text.replace(self._key, "[key]") if len(self._key) >= SECRET_CHARS else text


def _host(base_url: str) -> str:
    """Give the host of a usable base URL. A refused one with a user part is not quoted: it may hold a password."""
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if "@" in parts.netloc:
        raise Conflict(f"the base URL of '{host}' is unusable: it holds a user; put the key in the key's variable")
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise Conflict(f"the base URL '{base_url}' is unusable: write it as 'https://HOST/v1', or '{OFFLINE}'")
    return host


def _session(*, loopback: bool) -> requests.Session:
    session = requests.Session()
    adapter = HTTPAdapter(pool_connections=1, pool_maxsize=CONNECTIONS)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    if loopback:
        session.trust_env = False  # a proxy from the environment cannot reach our loopback
    return session


def _seconds(retry_after: str | None) -> float | None:
    """Read Retry-After in its form in seconds; its date form would compare two machines' clocks and counts as none."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
