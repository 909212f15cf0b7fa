"""The last recorded values, bench/baseline.json: what each row's ratio and phases were, so that a change shows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.timing import Row

PATH = Path(__file__).with_name("baseline.json")
KEPT = ("limit", "phases", "ratio", "unit")
"""No wall time of a whole row, and nothing of the machine: those say nothing elsewhere."""


def read(path: Path = PATH) -> dict[str, dict[str, Any]]:
    """Give what was recorded, by row; nothing where nothing was. Raises OSError, ValueError."""
    recorded: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return recorded


def record(rows: Sequence[Row], path: Path = PATH) -> None:
    """Put the rows in the place of what was recorded of them; what was not measured now stays. Raises OSError."""
    kept = read(path) | {row["name"]: {name: value for name, value in row.items() if name in KEPT} for row in rows}
    path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", "utf-8")


def change(row: Row, recorded: Mapping[str, dict[str, Any]]) -> str:
    """Say by how much the row's ratio differs from the recorded one, in per cent; "new" where there is none."""
    before = recorded.get(row["name"])
    if before is None or before["unit"] != row["unit"] or not before["ratio"]:
        return "new"
    return f"{row['ratio'] / before['ratio'] - 1:+.0%}"


def phase_lines(row: Row, recorded: Mapping[str, dict[str, Any]]) -> list[str]:
    """Give a line a phase: its seconds, and what they were where they were recorded."""
    before = recorded.get(row["name"], {}).get("phases", {})
    return [
        f"{phase} {spent:.3f} s" + (f" (was {before[phase]:.3f})" if phase in before else "")
        for phase, spent in row["phases"].items()
    ]
