"""proposals/slot-NNNN/status.json: the verdict on a proposer's turn, written last; another system has its own form."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wmo_contracts.run import TurnStatus
from wmo_kit.documents import read_json, validate
from wmo_kit.errors import BadDocument

from wmo_population.evidence import reading, refuse_link
from wmo_population.layout import RunLayout

STATUS = "status.json"
OURS = frozenset({"reasons", "tree_hash"})
"""Keys by which a status.json is known as one of ours: it must then be a whole one."""


def verdict_path(layout: RunLayout, slot: int) -> Path:
    """Give the file of a slot's verdict."""
    return layout.proposal_dir(slot) / STATUS


def read_verdict(layout: RunLayout, slot: int) -> Mapping[str, Any] | None:
    """Give a slot's status.json as it is, None where there is none. Raises BadDocument for what is no JSON object."""
    path = verdict_path(layout, slot)
    if not os.path.lexists(path):
        return None
    with reading(f"slot {slot}", path):
        refuse_link(path.parent)
        value = read_json(path)
        if not isinstance(value, dict) or not value:
            raise BadDocument(f"cannot read '{path}': it is no JSON object, or says nothing")
        return value


def read_own_verdict(layout: RunLayout, slot: int) -> TurnStatus | None:
    """Give a slot's verdict; None where there is none, or one of another system. Raises BadDocument."""
    value = read_verdict(layout, slot)
    if value is None or OURS.isdisjoint(value):
        return None
    path = verdict_path(layout, slot)
    with reading(f"slot {slot}", path):
        return validate(value, TurnStatus, str(path))
