"""proposals/slot-NNNN/: what stays of a proposer's turn, accepted or not.

REQUEST.md     what the agent was asked
events.json    what it did: the transcript, or a command's streams
exchanges.json what its model was asked and answered, where it was pi
source/        candidate/ as the gate saw it
error.json     why it was rejected
status.json    the verdict, written last: a folder without one is a try that was cut short
attempt-<k>/   such tries, moved aside
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wmo_contracts.exchanges import ExchangesDocument
from wmo_contracts.run import ErrorFile, TurnStatus
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import write_tree
from wmo_kit.atomic import write_json_atomic, write_text_atomic
from wmo_models.recording import EXCHANGES
from wmo_population.durable import make_directory
from wmo_population.verdict import STATUS

ATTEMPT = "attempt-"


def open_evidence(directory: Path, request: str) -> None:
    """Make the folder of a new turn; what a try that was cut short left there moves to attempt-<k>/. Raises OSError."""
    make_directory(directory, inside=directory.parents[1])
    left = [path for path in directory.iterdir() if not path.name.startswith(ATTEMPT)]
    if left:
        number = 1
        while (aside := directory / f"{ATTEMPT}{number}").exists():
            number += 1
        aside.mkdir()
        for path in left:
            path.rename(aside / path.name)
    write_text_atomic(directory / "REQUEST.md", request)


def write_events(directory: Path, events: Mapping[str, Any], exchanges: ExchangesDocument | None) -> None:
    """Keep what the agent did and, where we know, what its model was asked. Raises OSError."""
    if exchanges is not None:
        write_text_atomic(directory / EXCHANGES, exchanges.to_text())
    write_json_atomic(directory / "events.json", events)


def close_evidence(directory: Path, status: TurnStatus, tree: SourceTree | None, error: ErrorFile | None) -> None:
    """Keep what the gate saw and said; the verdict last. Raises OSError."""
    if tree is not None:
        write_tree(tree, directory / "source")
    if error is not None:
        write_json_atomic(directory / "error.json", error.model_dump(mode="json"))
    write_json_atomic(directory / STATUS, status.model_dump(mode="json"))
