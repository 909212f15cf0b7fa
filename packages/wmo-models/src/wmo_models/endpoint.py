"""From configuration to a working Provider; the offline model's private server is started here, and ended."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from wmo_kit.child import Drain, stop_group
from wmo_kit.config import OFFLINE, Config, Role, api_key
from wmo_kit.errors import Missing
from wmo_kit.log import Log

from wmo_models.client import OpenAIClient
from wmo_models.failover import Waterfall
from wmo_models.trouble import teller

START_S = 30.0
"""How long the offline server may take to print its ready line; it needs 0.1 s on an idle machine."""
STOP_GRACE_S = 1.0
STDERR_BYTES = 8192


@contextmanager
def open_provider(config: Config, role: Role, log: Log | None = None) -> Iterator[Waterfall]:
    """Give the Provider of a role while the context lasts. It tells `log` of each wait and failover, in one line.

    For base_url "offline" a private server runs as long. Raises Missing (69) where that cannot start or where the
    variable of an endpoint's key is not set, Conflict for a key that cannot be sent.
    """
    model, tell = config.roles.get(role), teller(role, log)
    with ExitStack() as stack:
        clients = []
        for endpoint in model.endpoints:
            name = endpoint.base_url
            url = stack.enter_context(offline_server()) if name == OFFLINE else name
            served = endpoint.model_copy(update={"base_url": url})
            clients.append(OpenAIClient(served, api_key(endpoint, role), name=name, tell=tell))
            stack.callback(clients[-1].close)
        yield Waterfall(clients, tell=tell)


@contextmanager
def offline_server() -> Iterator[str]:
    """Run a private `wmo-offline` while the context lasts and give its base URL. Raises Missing (69).

    It has a process group of its own, so that Ctrl-C in the terminal does not end it before us, and it watches the
    pipe that is its standard input, so that it ends with us however we end.
    """
    program = Path(sys.executable).parent / "wmo-offline"
    try:
        process = subprocess.Popen(
            [program, "--port", "0", "--with-parent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise Missing(
            f"cannot start the offline model '{program}': {(error.strerror or str(error)).lower()}; run 'make setup'"
        ) from error
    assert process.stdin and process.stdout and process.stderr  # noqa: S101  PIPE was asked for
    words = Drain(process.stderr, STDERR_BYTES)
    try:
        yield _ready_url(process.stdout, words)
    finally:
        stop_group(process, STOP_GRACE_S)
        process.stdin.close()
        process.stdout.close()
        words.thread.join()
        process.stderr.close()


def _ready_url(stdout: IO[bytes], words: Drain) -> str:
    """Wait for the ready line and give its URL."""
    line = _first_line(stdout, time.monotonic() + START_S)
    try:
        return str(json.loads(line)["url"])
    except (ValueError, LookupError, TypeError) as error:
        words.thread.join(1.0)
        said = words.kept().decode("utf-8", "replace").strip() or "it said nothing"
        raise Missing(f"the offline model did not start: {said}") from error


def _first_line(stdout: IO[bytes], deadline: float) -> bytes:
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n") and selector.select(max(deadline - time.monotonic(), 0)):
            chunk = os.read(stdout.fileno(), 4096)
            if not chunk:
                break
            line += chunk
    return line
