"""One HTTP exchange with an endpoint, bounded as a whole: whatever the other side does, it is over in time."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import BadStatusLine
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.auth import AuthBase
from wmo_kit.base_url import host_of

from wmo_models.deadline import BoundedAdapter, Deadline, HungUp
from wmo_models.trouble import Cause

CHUNK_BYTES = 65536
MAX_BODY_BYTES = 64 * 1024 * 1024
"""An answer beyond this is none; 100,000 tokens are about 1 MB."""
BODY_HEADERS = {"content-length", "transfer-encoding"}
"""One of them says how long a body is, an empty one too, unless the end of the connection does."""
CONNECTIONS = 32
"""Connections kept open per endpoint: as many as threads are expected to use one."""
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
SECRET_CHARS = 8
"""A shorter key is none ("none", "x"): taking it out of messages would only garble them."""


@dataclass(frozen=True)
class Answer:
    """An HTTP response as it came. `headers` by lower-case name."""

    status: int
    headers: dict[str, str]
    body: bytes


class NoAnswer(Exception):
    """There is no response; the message says why in one line. `transient`: the next try may get one."""

    def __init__(self, message: str, cause: Cause, *, transient: bool = True) -> None:
        super().__init__(message)
        self.cause, self.transient = cause, transient


class Transport:
    """Posts JSON to one endpoint's completions. Threads share it; it keeps no cookies and follows no redirect."""

    def __init__(self, base_url: str, key: str, name: str) -> None:
        """`key` is sent as the bearer token; "" sends none. `name` stands for the base URL in messages.

        Raises Conflict for a base URL that is none.
        """
        self.host = host_of(base_url)
        self._name = name
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._auth = _Bearer(key)
        self._session = _session(loopback=self.host in LOOPBACK_HOSTS)

    def post(self, body: dict[str, Any], *, within_s: float, connect_s: float) -> Answer:
        """Send `body` and give the answer, all of it within `within_s` seconds. Raises NoAnswer, HungUp."""
        begun = False
        with Deadline(within_s) as deadline:
            try:
                with self._session.post(
                    self._url,
                    json=body,
                    auth=self._auth,
                    timeout=(min(connect_s, within_s), within_s),
                    allow_redirects=False,
                    stream=True,
                ) as response:
                    begun = True
                    answer = Answer(response.status_code, _lower(response.headers), _read(response))
                    if not answer.body and not answer.headers.keys() & BODY_HEADERS:
                        # http.client takes a head that breaks off for a whole one
                        raise requests.ConnectionError("the head broke off")
                    return answer
            except (requests.RequestException, TimeoutError) as error:
                if deadline.hung_up:
                    raise HungUp from error
                raise self._no_answer(error, late=deadline.passed, begun=begun, within_s=within_s) from error

    def scrub(self, text: str) -> str:
        """Take the key out of a text: some endpoints quote it in their message."""
        return self._auth.scrub(text)

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._session.close()

    def _no_answer(self, error: Exception, *, late: bool, begun: bool, within_s: float) -> NoAnswer:
        """Say in one line what an exception of requests, urllib3 and the socket below them is about."""
        causes = list(_chain(error))
        if isinstance(error, requests.exceptions.InvalidHeader | requests.exceptions.InvalidURL):
            return NoAnswer(f"cannot ask '{self._name}': {error}", "refused", transient=False)
        if isinstance(error, requests.ConnectTimeout):
            return NoAnswer(f"cannot connect to '{self._name}': no answer in time", "timeout")
        if late or any("timed out" in str(cause) or isinstance(cause, TimeoutError) for cause in causes):
            what = "the answer was not complete" if begun else "no answer"
            return NoAnswer(f"{what} within {within_s:.0f} s", "timeout")
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                words = f"its certificate is not trusted: {cause.verify_message}"
                return NoAnswer(f"cannot connect to '{self._name}': {words}", "connection", transient=False)
            if isinstance(cause, ssl.SSLError) and cause.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
                return NoAnswer(f"cannot connect to '{self._name}': it speaks no TLS; is it 'http://'?",
                                "connection", transient=False)  # fmt: skip
        system = next((cause for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
        words = (system.strerror or "").lower() if system else "the endpoint closed the connection"
        if any(isinstance(cause, requests.exceptions.ProxyError) for cause in causes):
            return NoAnswer(f"cannot connect to '{self._name}' through the proxy: {words}", "connection")
        if system is not None and not begun and not _spoken(causes):
            return NoAnswer(f"cannot connect to '{self._name}': {words}", "connection")
        if any(type(cause) is BadStatusLine for cause in causes):  # its subclass is a connection that was closed
            words = "the answer is no HTTP"
        what = "the answer broke off" if begun else "the connection broke off before an answer"
        return NoAnswer(f"{what}: {words}", "connection")


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


def _session(*, loopback: bool) -> requests.Session:
    session = requests.Session()
    adapter = BoundedAdapter(pool_connections=1, pool_maxsize=CONNECTIONS)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    if loopback:
        session.trust_env = False  # a proxy from the environment cannot reach our loopback
    return session


def _read(response: requests.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise NoAnswer(f"the answer is longer than {MAX_BODY_BYTES >> 20} MiB", "malformed", transient=False)
    return bytes(body)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Give an exception and all that are behind it: requests and urllib3 keep them in different places."""
    seen: set[int] = set()
    stack = [error]
    while stack:
        one = stack.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        behind = [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
        stack += [item for item in reversed(behind) if isinstance(item, BaseException)]


def _spoken(causes: list[BaseException]) -> bool:
    """Say whether the connection stood already: then urllib3 calls it a broken protocol."""
    return any(type(cause).__name__ == "ProtocolError" for cause in causes)
