"""How the optimizer reads a run's history: the commands that it runs, and what it gets from their output.

Output may be cut in the middle by the sandbox and followed by words of the tool, so the commands print one short JSON
object a line, the facts are counted where they are, and lines that are no JSON are passed over.
"""

import json
from dataclasses import dataclass
from typing import Any

from wmo_models.offline.shell_text import load_command

READ_REQUEST = "cat REQUEST.md"
READ_HISTORY = load_command("read-history")


@dataclass(frozen=True)
class PastCandidate:
    """One consumed slot. `score` is None where the proposal was rejected."""

    candidate_id: str
    score: float | None
    summary: str


@dataclass(frozen=True)
class Failures:
    """The failing trials of a candidate: how many ended for which stop reason, and some of their verifiers' words."""

    stop_reasons: dict[str, int]
    words: str

    @property
    def total(self) -> int:
        """How many trials failed."""
        return sum(self.stop_reasons.values())


def read_failures(candidate_id: str) -> str:
    """Give the command that prints the failing trials of a candidate."""
    return load_command("read-failures").replace("CANDIDATE", candidate_id)


def parse_history(output: str) -> list[PastCandidate]:
    """Read what READ_HISTORY printed; empty where it failed."""
    entries = [entry for entry in _objects(output) if entry.keys() >= {"id", "score", "summary"}]
    return [PastCandidate(entry["id"], entry["score"], entry["summary"]) for entry in entries]


def parse_failures(output: str) -> Failures:
    """Read what `read_failures` printed; no failures where it failed."""
    objects = _objects(output)
    counts: dict[str, int] = next((item["stop_reasons"] for item in objects if "stop_reasons" in item), {})
    trials = [item for item in objects if item.keys() >= {"task", "verifier"}]
    words = "\n".join(f"{trial['task']} {' '.join(trial['verifier'])}" for trial in trials)
    return Failures(dict(counts), words)


def _objects(output: str) -> list[dict[str, Any]]:
    found = []
    for line in output.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
