"""Why a trial did not pass, in one short line: pure and the same on every machine."""

import re

from wmo_contracts.episode import EpisodeResult
from wmo_contracts.score import NOTE_LIMIT

FAILING = re.compile(r"(not ok|fail|error)\b", re.IGNORECASE)
"""How a line of a verifier's output begins that says what is wrong (TAP, pytest, shell scripts)."""
SHOWN_LINES = 5
LINE_LIMIT = 300


def cell_note(*, passed: bool, result: EpisodeResult | None, verdict_note: str, output: str) -> str:
    """Give the note of a cell, at most 2,000 characters, "" where the trial passed.

    First why the agent ended, where it did not submit; then what the verifier said is odd and, of its `output`, the
    first failing lines. `result` is None for an agent without an episode.
    """
    if passed:
        return ""
    parts = []
    if result is not None and result.stop_reason != "submitted":
        why = f": {result.note}" if result.model_fault else ""
        parts.append(f"stopped: {result.stop_reason}{why}")
    parts += [part for part in (verdict_note, *failing_lines(output)) if part]
    return _clip("; ".join(parts), NOTE_LIMIT)


def failing_lines(output: str) -> list[str]:
    """Give the first lines of a verifier's output that say what failed; its last line where none is recognised."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    chosen = [line for line in lines if FAILING.match(line)][:SHOWN_LINES] or lines[-1:]
    return [_clip(line, LINE_LIMIT) for line in chosen]


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
