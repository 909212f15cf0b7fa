"""A 10-turn episode of the real pi with a model that answers at once, against `node -e 0`."""

import statistics
import tempfile
from pathlib import Path

from wmo_contracts.episode import Limits
from wmo_episode.node_binary import node_prefix
from wmo_episode.runtime import PiRuntime
from wmo_harness.pi_agent import seed_tree
from wmo_harness.surfaces import parse_tree
from wmo_harness.system_prompt import system_prompt
from wmo_harness.tool_policy import tool_specs
from wmo_suites.sandbox import Sandbox

from bench.model import ZeroLatency
from bench.timing import Row, command, ratio_row, side_by_side

TURNS = 10
LIMIT = 10.0
VENDOR = Path(__file__).parents[1] / "vendor"


def measure(rounds: int = 9) -> list[Row]:
    """Give the row of the episode, with the median of each phase."""
    tree = seed_tree(VENDOR)
    spec = parse_tree(tree)
    runtime = PiRuntime(
        ZeroLatency(TURNS),
        files=tree,
        tools=tuple(tool_specs(spec.tools)),
        system=system_prompt(spec),
        runtime=VENDOR / "runtime",
        limits=Limits(),
    )
    phases: dict[str, list[float]] = {}

    def episode() -> None:
        with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder, Sandbox(Path(folder)) as sandbox:
            result = runtime.run("bench", "Do ten turns.", sandbox)
        if result.stop_reason != "submitted" or result.usage.calls != TURNS:
            raise RuntimeError(f"the episode did not do its {TURNS} turns: {result.stop_reason}: {result.note}")
        for name, spent in result.timings.items():
            phases.setdefault(name, []).append(spent)

    base = "node -e 0"
    node = str(node_prefix() / "bin" / "node")
    seconds = side_by_side({base: command(node, "-e", "0"), "episode": episode}, rounds)
    notes = [f"{name} {statistics.median(spent):.3f} s" for name, spent in phases.items()]
    name = f"{TURNS}-turn episode, zero-latency model"
    return [ratio_row(name, seconds["episode"], base=(base, seconds[base]), limit=LIMIT, notes=notes)]
