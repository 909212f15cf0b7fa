"""Why a trial did not pass, in one short line: pure and the same on every machine."""

import re

from wmo_contracts.episode import EpisodeResult
from wmo_contracts.score import NOTE_LIMIT, CellDocument
from wmo_contracts.verdict import VerdictDocument
from wmo_kit.errors import shown

FAILING = re.compile(r"(not ok|fail|error)\b", re.IGNORECASE)
"""How a line of a verifier's output begins that says what is wrong (TAP, pytest, shell scripts)."""
SHOWN_LINES = 5
LINE_LIMIT = 300
SAID_LIMIT = 100
"""What a line of progress says of why a trial failed, in characters."""


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


def outcome_words(document: CellDocument, verdict: VerdictDocument | None) -> str:
    """Give how a trial went, for its line of progress: "fail (submitted): not ok b: y".

    Of a judge's `verdict` the user also reads what was wrong with the reply, or why an assertion failed: proposers, who
    must not, see no progress.
    """
    cell, stop = document.cell, document.stop_reason
    how = f"{'pass' if cell.passed else 'fail'}{f' ({stop})' if stop else ''}"
    if cell.passed:
        return how
    first, *rest = cell.note.split("; ")
    why = next(iter(rest), "") if first == f"stopped: {stop}" else first
    if verdict is not None:
        reasons = [one.reason for one in verdict.assertions if not one.passed and one.reason]
        why = next(filter(None, [verdict.note, *reasons]), why)
    return f"{how}: {shown(_clip(why, SAID_LIMIT))}" if why else how


def failing_lines(output: str) -> list[str]:
    """Give the first lines of a verifier's output that say what failed; its last line where none is recognised."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    chosen = [line for line in lines if FAILING.match(line)][:SHOWN_LINES] or lines[-1:]
    return [_clip(line, LINE_LIMIT) for line in chosen]


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
