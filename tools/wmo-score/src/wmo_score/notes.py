"""Why a trial did not pass, in one short line: pure and the same on every machine."""

from wmo_contracts.episode import EpisodeResult
from wmo_contracts.score import NOTE_LIMIT


def cell_note(*, passed: bool, result: EpisodeResult | None, verifier_note: str) -> str:
    """Give the note of a cell, at most 2,000 characters, "" where the trial passed.

    First why the agent ended, where it did not submit; then the verifier's words, their line ends as " | ".
    `result` is None for an agent without an episode.
    """
    if passed:
        return ""
    parts = []
    if result is not None and result.stop_reason != "submitted":
        parts.append(f"agent stopped: {result.stop_reason}")
    if verdict := " | ".join(line.strip() for line in verifier_note.splitlines() if line.strip()):
        parts.append(f"verifier: {verdict}")
    return _clip("; ".join(parts), NOTE_LIMIT)


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
