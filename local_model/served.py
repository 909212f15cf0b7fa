"""The model's server as a child that ends with us, however we end."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wmo_kit.child import stop_group
from wmo_kit.errors import Missing
from wmo_kit.signals import shielded

STOP_GRACE_S = 5.0


@contextmanager
def served(argv: Sequence[str], log: Path) -> Iterator[str]:
    """Run the server `argv` while the context lasts and give its base URL; its stderr goes to the file `log`.

    It has a process group of its own, so that Ctrl-C in the terminal does not end it before us, and ends when its
    standard input, a pipe from us, is closed: also where we are killed. Raises Missing where it does not start.
    """
    with log.open("wb") as words, shielded():
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, start_new_session=True
        )
    assert process.stdin and process.stdout  # PIPE was asked for
    try:
        line = process.stdout.readline()
        try:
            url = str(json.loads(line)["url"])
        except (ValueError, LookupError, TypeError) as error:
            raise Missing(f"the local model did not start; see '{log}'") from error
        yield url
    finally:
        stop_group(process, STOP_GRACE_S)
        process.stdin.close()
        process.stdout.close()
