"""events.jsonl: the run's timeline for people and reports. It is never read back as state."""

import json
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wmo_kit.errors import BadDocument
from wmo_kit.io_errors import describe, naming
from wmo_kit.log import Log

from wmo_population.layout import RunLayout


def append_event(run_dir: Path, event: str, slot: int, **fields: Any) -> None:
    """Append one line: `event` (a stable word, e.g. "scored"), `slot`, the time in UTC, and JSON `fields`.

    Fields that count seconds are named `seconds`, tokens and cost as in Usage. A torn last line, from a writer that
    was killed, is ended first so that it spoils no other. Called with the run's lock held. Raises OSError.
    """
    entry = {"event": event, "slot": slot, "at": datetime.now(UTC).isoformat(timespec="seconds"), **fields}
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    path = RunLayout(run_dir).events
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    with naming(path), os.fdopen(descriptor, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        file.write(b"\n" + line if torn else line)


def check_events(run_dir: Path) -> None:
    """Raise BadDocument where events.jsonl is no regular file: better before a step is paid for than after it."""
    path = RunLayout(run_dir).events
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise BadDocument(f"'{path}' is no regular file: move it away, a new one is made")


def note_event(log: Log, run_dir: Path, event: str, slot: int, **fields: Any) -> None:
    """Append a line as `append_event` does; where the disk does not take it, say so and go on.

    The boundary that it tells of is committed, and no failure of a decoration may deny that.
    """
    try:
        append_event(run_dir, event, slot, **fields)
    except OSError as error:
        log.say("warning", f"the timeline misses slot {slot}, '{event}': {describe(error)}", slot=slot)


def read_events(run_dir: Path) -> list[Mapping[str, Any]]:
    """Give the timeline, oldest first; lines that are no JSON object (torn ones) are left out. Raises OSError."""
    path = RunLayout(run_dir).events
    check_events(run_dir)
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
