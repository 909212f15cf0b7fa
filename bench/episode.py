"""A 10-turn episode of the real pi with a model that answers at once, against `node -e 0`: cold, and from a warm pool.

Of a pool's episode is measured what its user waits for. The process was started before; that is work too, and what a
whole scoring pays for it the rows of trials say.
"""

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from wmo_contracts.episode import Limits
from wmo_episode.node_binary import node_prefix
from wmo_episode.runtime import PiRuntime
from wmo_episode.warm_pool import WarmPool
from wmo_harness.pi_agent import seed_tree
from wmo_harness.surfaces import parse_tree
from wmo_harness.system_prompt import system_prompt
from wmo_harness.tool_policy import tool_specs
from wmo_suites.sandbox import Sandbox

from bench.model import ZeroLatency
from bench.processes import descendants
from bench.timing import Row, command, ratio_row

TURNS = 10
COLD_LIMIT, WARM_LIMIT = 6.0, 3.0
VENDOR = Path(__file__).parents[1] / "vendor"
TREE = seed_tree(VENDOR)
BASE = "node -e 0"
COLD_FLOOR = (
    "node's own start (1.0), then loading pi's 60 modules and openai from the compile cache, the two boxes, and ten "
    "turns of one thread in node and one here that answer each other"
)
WARM_FLOOR = (
    "the candidate's own 40 files are read and compiled after the box is closed, and ten turns answer one another; "
    "Python in the tools' box starts beside it"
)
IDLE_S, LOOK_S, READY_S = 0.3, 0.05, 30.0
"""A process that used no time for IDLE_S has warmed up and waits."""
BUSY_TICKS = 3
"""What node has used at the least when it waits: else it has not begun."""


def measure(rounds: int = 9) -> list[Row]:
    """Give the two rows: of several rounds the fastest, as other work on the machine only ever adds."""
    seconds: dict[str, list[float]] = {BASE: [], "cold": [], "warm": []}
    phases: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    start = command(str(node_prefix() / "bin" / "node"), "-e", "0")
    for number in range(rounds + 1):
        with ExitStack() as stack:
            pool = stack.enter_context(_ready_pool())
            for name, spent_s in seconds.items():
                begun = time.perf_counter()
                spent = start() if name == BASE else _episode(pool if name == "warm" else None)
                if number > 0:
                    spent_s.append(time.perf_counter() - begun)
                    if isinstance(spent, dict):
                        phases[name].append(spent)
    base = min(seconds[BASE])
    rows = []
    for name, limit, floor in (("cold", COLD_LIMIT, COLD_FLOOR), ("warm", WARM_LIMIT, WARM_FLOOR)):
        least = min(seconds[name])
        what = f"{TURNS}-turn episode, boxed, zero-latency model, {name}"
        where = phases[name][seconds[name].index(least)]
        rows.append(ratio_row(what, least, base=(BASE, base), limit=limit, phases=where, floor=floor))
    return rows


def _episode(pool: WarmPool | None) -> dict[str, float]:
    """Play the episode in a sandbox of its own; gives its phases."""
    spec = parse_tree(TREE)
    runtime = PiRuntime(
        ZeroLatency(TURNS),
        files=TREE,
        tools=tuple(tool_specs(spec.tools)),
        system=system_prompt(spec),
        runtime=VENDOR / "runtime",
        pool=pool,
        limits=Limits(),
    )
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder, Sandbox(Path(folder)) as sandbox:
        result = runtime.run("bench", "Do ten turns.", sandbox)
    if result.stop_reason != "submitted" or result.usage.calls != TURNS:
        raise RuntimeError(f"the episode did not do its {TURNS} turns: {result.stop_reason}: {result.note}")
    return dict(result.timings)


def _ready_pool() -> WarmPool:
    """Give a pool whose one process waits; it starts no other. Entered, it is to be left by the caller."""
    pool = WarmPool(VENDOR / "runtime", PiRuntime.ENTRY_COMMAND, size=1, episodes=2)
    with pool.take(TREE) as nothing:
        if nothing is not None:
            raise RuntimeError("a pool gives nothing before it began")
    before, since = -1, time.monotonic()
    until = since + READY_S
    while time.monotonic() - since < IDLE_S:
        ticks = sum(process.ticks for process in descendants(os.getpid()) if process.argv[:1] == ("node",))
        if ticks != before or ticks < BUSY_TICKS:
            before, since = ticks, time.monotonic()
        if time.monotonic() > until:
            raise RuntimeError("the pool's process did not get ready")
        time.sleep(LOOK_S)
    return pool
