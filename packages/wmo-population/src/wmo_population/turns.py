"""A slot's proposer turn, proposals/slot-<n>/, held against the candidate that came of it. Reading only."""

import os
from pathlib import Path

from wmo_contracts.exchanges import ExchangesDocument
from wmo_contracts.run import ErrorFile, InvalidEntry, StateEntry, TurnStatus
from wmo_harness.source_tree import PROPOSER_BOUNDS, tree_hash
from wmo_harness.tree_io import read_tree
from wmo_kit.documents import MAX_BYTES, parse_bytes, read_regular
from wmo_kit.errors import BadDocument, shown

from wmo_population.evidence import REMEDY, read_part, reading, refuse_link
from wmo_population.layout import RunLayout
from wmo_population.outcomes import CandidateProposal, SlotOutcome
from wmo_population.trials import EXCHANGES
from wmo_population.verdict import read_own_verdict, verdict_path

REQUEST, EVENTS, SOURCE, ERROR = "REQUEST.md", "events.json", "source", "error.json"


def check_turn(layout: RunLayout, outcome: SlotOutcome) -> bool:
    """Hold a consumed slot's turn against its outcome; False where none is kept that we know how to read.

    Raises BadDocument that names the slot and the file.
    """
    slot, entry = outcome.slot, outcome.entry()
    status = read_own_verdict(layout, slot)
    if status is None:
        return False
    folder = layout.proposal_dir(slot)
    _check_verdict(verdict_path(layout, slot), entry, status)
    if status.tree_hash:
        _check_source(slot, folder / SOURCE, status)
    if outcome.candidate is not None and status.tree_hash != tree_hash(outcome.candidate.tree):
        raise BadDocument(
            f"slot {slot}: '{verdict_path(layout, slot)}' accepts another tree than the candidate's: {REMEDY}"
        )
    if status.status == "rejected":
        _check_error(slot, folder / ERROR, entry)
    for name in (REQUEST, EVENTS):
        _check_readable(slot, folder / name)
    if os.path.lexists(folder / EXCHANGES):  # a command has none
        read_part(folder / EXCHANGES, ExchangesDocument, slot)
    return True


def check_pending_turn(layout: RunLayout, slot: int, pending: CandidateProposal | None) -> None:
    """Hold an accepted candidate against the turn that it came of, where one of ours is kept. Raises BadDocument."""
    status = read_own_verdict(layout, slot)
    if pending is None or status is None:
        return
    told = (status.status, status.tree_hash, layout.evidence_dir(slot))
    if told != ("accepted", tree_hash(pending.tree), pending.evidence_dir):
        raise BadDocument(f"slot {slot}: '{layout.proposal(slot)}' does not come of the turn in "
                          f"'{layout.proposal_dir(slot)}': {REMEDY}")  # fmt: skip


def _check_verdict(path: Path, entry: StateEntry, status: TurnStatus) -> None:
    if status.status == "rejected" and entry.kind == "scored":
        raise BadDocument(f"slot {entry.slot}: '{path}' rejects a candidate that was scored: {REMEDY}")
    if status.status == "rejected" and isinstance(entry, InvalidEntry) and "; ".join(status.reasons) != entry.reason:
        raise BadDocument(f"slot {entry.slot}: '{path}' has other reasons than the index, "
                          f"'{shown(entry.reason)}': {REMEDY}")  # fmt: skip


def _check_source(slot: int, source: Path, status: TurnStatus) -> None:
    with reading(f"slot {slot}", source):
        refuse_link(source)
        found = tree_hash(read_tree(source, PROPOSER_BOUNDS))
    if found != status.tree_hash:
        raise BadDocument(f"slot {slot}: '{source}' hashes to '{found}', the verdict beside it says "
                          f"'{shown(status.tree_hash)}': {REMEDY}")  # fmt: skip


def _check_error(slot: int, path: Path, entry: StateEntry) -> None:
    error = read_part(path, ErrorFile, slot)
    if isinstance(entry, InvalidEntry) and (error.reason, error.evidence_dir) != (entry.reason, entry.evidence_dir):
        raise BadDocument(f"slot {slot}: '{path}' has another reason than the index: {REMEDY}")


def _check_readable(slot: int, path: Path) -> None:
    """No hash speaks for a request or a transcript: that it is whole is all there is to see."""
    with reading(f"slot {slot}", path):
        data = read_regular(path, MAX_BYTES)
        if path.suffix == ".json":
            parse_bytes(data, str(path))
