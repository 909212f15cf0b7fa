"""How long `wmo-X --help` takes, against `python -c "import click, pydantic"`."""

import sys
from pathlib import Path

from bench.timing import Row, command, ratio_row, side_by_side

LIMIT = 1.5
BASE = "import click, pydantic"


def measure(rounds: int = 7) -> list[Row]:
    """Give one row per installed tool."""
    tools = sorted(Path(sys.executable).parent.glob("wmo-*"))
    cases = {BASE: command(sys.executable, "-c", BASE)} | {tool.name: command(str(tool), "--help") for tool in tools}
    seconds = side_by_side(cases, rounds)
    return [
        ratio_row(f"{tool.name} --help", seconds[tool.name], base=(BASE, seconds[BASE]), limit=LIMIT) for tool in tools
    ]
