"""What a run has used: tokens, calls, seconds and cost, added up from its cells and its proposers' turns.

The timeline (events.jsonl) is not read. A trial or turn counts once it left its document: a trial without a verdict
does not, for its evidence goes when it runs again.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmo_contracts.episode import Usage
from wmo_contracts.run import Spending
from wmo_contracts.score import CellDocument
from wmo_kit.documents import read_json, validate
from wmo_kit.errors import BadDocument

from wmo_population.evidence import reading
from wmo_population.layout import RunLayout
from wmo_population.trials import CELL, read_cell
from wmo_population.turns import EVENTS

OURS = "pi"
"""The proposer whose events.json tells its usage; another system's file has its own form."""
DIGITS = 4
PHASES = ("judge", "proposer", "verifier", "worker")
"""Whose seconds are added up. A world model answers while the agent works: its seconds are among the worker's."""


@dataclass(frozen=True)
class Counted:
    """How many trials (`worker`, `world`, `judge`) and turns (`proposer`) told what that role's model used."""

    worker: int
    proposer: int
    world: int
    judge: int


def slot_spending(layout: RunLayout, slot: int) -> Spending:
    """Give what a slot took: its finished trials, and every turn of its proposer. Raises BadDocument, OSError."""
    cells = (_of_trial(cell) for cell in _cells(layout, slot))
    turns = (
        Spending(proposer=_usage(events, path), timings={"proposer": _seconds(events)})
        for events, path in _turns(layout, slot)
    )
    return add_up([*cells, *turns])


def _of_trial(cell: CellDocument) -> Spending:
    seconds = {"worker": "agent", "verifier": "verifier", "judge": "judge"}
    return Spending(
        worker=cell.usage or Usage(),
        world=cell.world_usage or Usage(),
        judge=cell.judge_usage or Usage(),
        timings={phase: cell.timings.get(name, 0.0) for phase, name in seconds.items()},
    )


def add_up(parts: Iterable[Spending]) -> Spending:
    """Give the sum."""
    total, seconds = Spending(), dict.fromkeys(PHASES, 0.0)
    for part in parts:
        total = Spending(
            worker=total.worker.plus(part.worker),
            proposer=total.proposer.plus(part.proposer),
            world=total.world.plus(part.world),
            judge=total.judge.plus(part.judge),
        )
        for name, value in part.timings.items():
            seconds[name] += value
    return total.model_copy(update={"timings": _rounded(seconds)})


def run_spending(layout: RunLayout, consumed: int) -> Spending:
    """Give what the `consumed` slots and the one in hand took. Raises BadDocument, OSError."""
    return add_up(slot_spending(layout, slot) for slot in range(consumed + 1))


def counted(layout: RunLayout, consumed: int) -> Counted:
    """Give how many trials and turns of `run_spending` told their usage. Raises BadDocument, OSError."""
    slots = range(consumed + 1)
    cells = [cell for slot in slots for cell in _cells(layout, slot)]
    return Counted(
        worker=sum(cell.usage is not None for cell in cells),
        proposer=sum(_usage(events, path).calls > 0 for slot in slots for events, path in _turns(layout, slot)),
        world=sum(cell.world_usage is not None for cell in cells),
        judge=sum(cell.judge_usage is not None for cell in cells),
    )


def _cells(layout: RunLayout, slot: int) -> Iterator[CellDocument]:
    """Give the cells of a candidate's finished trials, those at held-out tasks last."""
    pattern = f"trials/*/attempt-*/{CELL}"
    held_out = layout.held_out.candidate_dir(slot).glob(pattern)
    for path in [*sorted(layout.candidate_dir(slot).glob(pattern)), *sorted(held_out)]:
        with reading(f"slot {slot}", path):
            try:
                yield read_cell(path)
            except BadDocument:
                if os.path.lexists(path):  # else the process that holds the lock runs the trial again
                    raise


def _turns(layout: RunLayout, slot: int) -> Iterator[tuple[dict[str, Any], Path]]:
    """Give each turn's events, those of turns that were cut short too."""
    folder = layout.proposal_dir(slot)
    for path in sorted([*folder.glob(EVENTS), *folder.glob(f"attempt-*/{EVENTS}")]):
        with reading(f"slot {slot}", path):
            value = read_json(path)
        if isinstance(value, dict):
            yield value, path


def _usage(events: dict[str, Any], path: Path) -> Usage:
    told = events.get("usage") if events.get("proposer") == OURS else None
    return Usage() if told is None else validate(told, Usage, str(path))


def _seconds(events: dict[str, Any]) -> float:
    """Give how long a turn took: the model and the tools, or the command."""
    timings = events.get("timings")
    told = timings if isinstance(timings, dict) else {}
    return sum(value for value in (told.get("total"), told.get("seconds")) if type(value) is float)


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in sorted(seconds.items())}
