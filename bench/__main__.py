"""`python -m bench [NAME...] [--json] [--record]`: run the measurements (all, or those named), print a table or JSON.

With --record what was measured goes into bench/baseline.json, which the table is held against.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import baseline, episode, growth, main_run, memory, set_up, start_up, tool_call, trials, workspace
from bench.timing import Row

MEASUREMENTS: dict[str, Callable[[], list[Row]]] = {
    "start_up": start_up.measure,
    "episode": episode.measure,
    "tool_call": tool_call.measure,
    "trials": trials.measure,
    "memory": memory.measure,
    "main_run": main_run.measure,
    "workspace": workspace.measure,
    "growth": growth.measure,
    "set_up": set_up.measure,
}
OPTIONS = ("--json", "--record")


def main(arguments: list[str]) -> int:
    """Measure, print, and give 1 where a limit does not hold."""
    names = [name for name in arguments if name not in OPTIONS] or list(MEASUREMENTS)
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        print(f"bench: no measurement '{unknown[0]}': there are {', '.join(MEASUREMENTS)}", file=sys.stderr)
        return 2
    recorded = baseline.read()
    rows = [row for name in names for row in MEASUREMENTS[name]()]
    if "--json" in arguments:
        print(json.dumps([{**row, "change": baseline.change(row, recorded)} for row in rows], indent=2))
    else:
        show(rows, recorded)
    if "--record" in arguments:
        baseline.record(rows)
    return 0 if all(row["holds"] for row in rows) else 1


def show(rows: list[Row], recorded: Mapping[str, dict[str, Any]]) -> None:
    """Print the rows for people."""
    table = Table(title="speed, as ratios within one run", show_lines=True)
    for name in ("what", "seconds", "ratio", "limit", "holds", "recorded", "where the time goes"):
        table.add_column(name)
    for row in rows:
        limit = "none" if row["limit"] is None else f"{'>=' if row['at_least'] else '<='} {row['limit']:g}"
        lines = [*baseline.phase_lines(row, recorded), *row["notes"]]
        if row["floor"]:
            lines.append(f"floor: {row['floor']}")
        table.add_row(
            row["name"],
            f"{row['seconds']:.3f}",
            f"{row['ratio']:.2f} {row['unit']}",
            limit,
            "yes" if row["holds"] else "NO",
            baseline.change(row, recorded),
            "\n".join(lines),
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
