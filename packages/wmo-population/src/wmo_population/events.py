"""events.jsonl: the run's timeline for people and reports. It is never read back as state."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wmo_population.layout import RunLayout


def append_event(run_dir: Path, event: str, slot: int, **fields: Any) -> None:
    """Append one line: `event` (a stable word, e.g. "scored"), `slot`, the time in UTC, and JSON `fields`.

    Fields that count seconds are named `seconds`, tokens and cost as in Usage. A torn last line, from a writer that
    was killed, is ended first so that it spoils no other. Called with the run's lock held. Raises OSError.
    """
    entry = {"event": event, "slot": slot, "at": datetime.now(UTC).isoformat(timespec="seconds"), **fields}
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    descriptor = os.open(RunLayout(run_dir).events, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        file.write(b"\n" + line if torn else line)


def read_events(run_dir: Path) -> list[Mapping[str, Any]]:
    """Give the timeline, oldest first; lines that are no JSON object (torn ones) are left out. Raises OSError."""
    path = RunLayout(run_dir).events
    if not path.exists():
        return []
    entries = (_parse(line) for line in path.read_bytes().split(b"\n"))
    return [entry for entry in entries if entry is not None]


def _parse(line: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
