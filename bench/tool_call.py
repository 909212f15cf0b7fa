"""The tool call `true` inside a sandbox that is open, against a bare bubblewrap around `true`."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from wmo_suites.host import survey
from wmo_suites.sandbox import Sandbox

from bench.timing import Row, command, ratio_row, rounds_of

LIMIT = 0.5
BURST = 5
"""Of each kind in a row: in an episode too, a call follows on calls."""
BASE = "bwrap --unshare-all true"
FLOOR = "bash's own start: a fresh `bash -c true` for each call; the rest is one line each way over a socket"


def measure(rounds: int = 30) -> list[Row]:
    """Give the row: of many rounds the fastest, as other work on the machine only ever adds."""
    bare = command(str(survey().bwrap), "--unshare-all", "--ro-bind", "/", "/", "true")
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder, Sandbox(Path(folder)) as sandbox:

        def call() -> None:
            if sandbox.run("true").is_error:
                raise RuntimeError("`true` failed in the sandbox")

        cases = {BASE: bare, "call": call, "bash": command("bash", "-c", "true")}
        seconds = rounds_of({name: _burst(case) for name, case in cases.items()}, rounds)
    least = {name: min(values) / BURST for name, values in seconds.items()}
    notes = [f"bash -c true, without any box: {least['bash']:.4f} s"]
    name = "tool call `true` inside a running sandbox"
    return [ratio_row(name, least["call"], base=(BASE, least[BASE]), limit=LIMIT, floor=FLOOR, notes=notes)]


def _burst(case: Callable[[], object]) -> Callable[[], None]:
    def several() -> None:
        for _ in range(BURST):
            case()

    return several
