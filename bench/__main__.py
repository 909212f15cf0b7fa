"""`python -m bench [NAME...] [--json]`: run the measurements (all, or those named) and print a table or JSON."""

import json
import sys
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from bench import episode, growth, start_up, trials
from bench.timing import Row

MEASUREMENTS: dict[str, Callable[[], list[Row]]] = {
    "start_up": start_up.measure,
    "episode": episode.measure,
    "trials": trials.measure,
    "growth": growth.measure,
}


def main(arguments: list[str]) -> int:
    """Measure, print, and give 1 where a limit does not hold."""
    names = [name for name in arguments if name != "--json"] or list(MEASUREMENTS)
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        print(f"bench: no measurement '{unknown[0]}': there are {', '.join(MEASUREMENTS)}", file=sys.stderr)
        return 2
    rows = [row for name in names for row in MEASUREMENTS[name]()]
    if "--json" in arguments:
        print(json.dumps(rows, indent=2))
    else:
        show(rows)
    return 0 if all(row["holds"] for row in rows) else 1


def show(rows: list[Row]) -> None:
    """Print the rows for people."""
    table = Table(title="speed, as ratios within one run")
    for name in ("what", "seconds", "ratio", "limit", "holds", "where the time goes"):
        table.add_column(name)
    for row in rows:
        ratio = f"{row['ratio']:.2f} {row['unit']}"
        limit = "none" if row["limit"] is None else f"{row['limit']:g}"
        holds = "yes" if row["holds"] else "NO"
        table.add_row(row["name"], f"{row['seconds']:.3f}", ratio, limit, holds, "\n".join(row["notes"]))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
