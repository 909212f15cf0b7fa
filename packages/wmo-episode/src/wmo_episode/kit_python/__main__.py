"""Plays one episode: the candidate's `run(kit)`, or the default loop where the harness has no runtime.py."""

import asyncio
import contextlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

from . import loop
from .kit import Ended, Kit
from .shim_client import ShimClient

HARNESS = Path("harness").absolute()
RUNTIME = HARNESS / "runtime.py"
NOTE_CHARS = 500
"""The end of a traceback that becomes the note, as of a crashed process's stderr (design 5)."""


def load_run() -> Callable[[Kit], Any]:
    """Give the candidate's `run`, its other files importable beside it; last on the path, they shadow nothing."""
    if not RUNTIME.is_file():
        return loop.run
    sys.path.append(str(HARNESS))
    spec = util.spec_from_file_location("runtime", RUNTIME)
    if spec is None or spec.loader is None:
        raise AssertionError("a .py file always has a loader")
    module = util.module_from_spec(spec)
    sys.modules["runtime"] = module
    spec.loader.exec_module(module)
    run: Callable[[Kit], Any] = module.run
    return run


def play(kit: Kit) -> None:
    """Run the harness to its end and tell the shim how that was. Raises Ended."""
    try:
        answer = load_run()(kit)
        if inspect.iscoroutine(answer):
            answer = asyncio.run(answer)
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  whatever a candidate raises is a result
        kit.stop("error", "".join(traceback.format_exception(error)).strip()[-NOTE_CHARS:])
    if answer is None:
        kit.stop("no_action", "run(kit) returned no answer")
    if not isinstance(answer, str):
        kit.stop("error", f"run(kit) must return its answer as a string, it returned {type(answer).__name__}")
    kit.submit(answer)


def main() -> None:
    """Play one episode at the shim that the environment names."""
    try:
        client = ShimClient(os.environ["PI_SHIM_URL"], os.environ["PI_SHIM_TOKEN"])
    except KeyError as error:
        sys.exit(f"the environment variable {error} is not set: run this under wmo-shim")
    with contextlib.suppress(Ended):
        play(Kit(client))


main()
