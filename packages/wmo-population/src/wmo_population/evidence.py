"""Reading a run's evidence back, checked against itself. Everything that does not hold is a BadDocument (65)."""

import errno
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wmo_contracts.base import Part
from wmo_contracts.run import ErrorFile, InvalidEntry, PendingFile, ProposalFile, ScoredEntry, StateEntry, StateFile
from wmo_contracts.score import ScoreReport
from wmo_harness.source_tree import PROPOSER_BOUNDS, SEED_BOUNDS, SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_harness.tree_io import read_tree
from wmo_kit.documents import MAX_BYTES, parse_bytes, read_json_part, read_regular, validate_text
from wmo_kit.errors import BadDocument, Missing, shown

from wmo_population.layout import RunLayout
from wmo_population.outcomes import CandidateProposal, EvaluatedCandidate, SlotOutcome
from wmo_population.slots import candidate_slot_id

PartT = TypeVar("PartT", bound=Part)
REMEDY = "restore it from a copy of the run, or start a new run directory"
SCORE_TOLERANCE = 1e-9
"""Two ways to sum the same pass rates may differ in the last bits of a float; an edited score differs by more."""
MISPLACED = frozenset({errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ELOOP})
"""What opening a path gives where a file or folder is missing or something else stands in its place."""
_CANDIDATE = re.compile(r"candidate-(\d{4,})")


@contextmanager
def reading(subject: str, path: Path) -> Iterator[None]:
    """Turn what goes wrong while evidence at `path` is read into a BadDocument with `subject` and what to do."""
    try:
        yield
    except (BadDocument, Missing) as error:
        place = "" if str(path) in str(error) else f" in '{path}'"
        raise BadDocument(f"{subject}: {error}{place}: {REMEDY}") from error
    except OSError as error:
        if error.errno not in MISPLACED:
            raise
        raise BadDocument(f"{subject}: cannot read '{path}': {(error.strerror or '').lower()}: {REMEDY}") from error


@dataclass(frozen=True)
class Index:
    """state.json as read. `text` is the file's, "" where it holds more than the entries (or is not there)."""

    entries: tuple[StateEntry, ...] = ()
    text: str = ""


def read_index(layout: RunLayout) -> Index:
    """Read state.json; no file is an empty index. Raises BadDocument: not contiguous, wrong ids, evidence beyond it."""
    index = _read_index(layout)
    while (stray := _slot_beyond(layout, len(index.entries))) is not None:
        again = _read_index(layout)
        if again == index:
            raise BadDocument(f"slot {stray}: '{layout.candidate_dir(stray)}' is not in '{layout.state}': {REMEDY}")
        index = again  # another process, which holds the lock, committed a slot while we looked
    return index


def _read_index(layout: RunLayout) -> Index:
    if not os.path.lexists(layout.state):
        return Index()
    with reading("run", layout.state):
        data = read_regular(layout.state, MAX_BYTES)
        value = parse_bytes(data, str(layout.state))
        entries = validate_text(data, StateFile, str(layout.state)).outcomes
    for slot, entry in enumerate(entries):
        if entry.slot != slot:
            raise BadDocument(f"bad '{layout.state}': slot {entry.slot} stands where slot {slot} belongs: {REMEDY}")
        if entry.candidate_id != candidate_slot_id(slot):
            raise BadDocument(f"bad '{layout.state}': slot {slot} names '{shown(entry.candidate_id)}': {REMEDY}")
    if entries and entries[0].kind != "scored":
        raise BadDocument(f"bad '{layout.state}': slot 0, the seed, is not scored: {REMEDY}")
    return Index(entries, data.decode() if len(value) == 1 else "")


def _slot_beyond(layout: RunLayout, consumed: int) -> int | None:
    """Give a slot whose paid evidence the index does not know: going on would write over it.

    Of the first slot that is not consumed a kill may leave anything but a report whose pending.json is gone.
    """
    if not layout.candidates.is_dir():
        return None
    for name in sorted(os.listdir(layout.candidates)):  # noqa: PTH208  names are all that is wanted, of thousands
        match = _CANDIDATE.fullmatch(name)
        slot = int(match.group(1)) if match else -1
        orphan = slot == consumed > 0 and layout.report(slot).exists() and not os.path.lexists(layout.pending(slot))
        if slot > consumed or orphan:
            return slot
    return None


def read_slot(layout: RunLayout, entry: StateEntry, like: SourceTree | None = None) -> SlotOutcome:
    """Read and re-hash everything of a consumed slot. Raises BadDocument that names the slot and the file.

    `like` is the seed's tree where it is at hand: what a candidate has in common with it is kept in memory once.
    """
    if isinstance(entry, InvalidEntry):
        return _read_invalid(layout, entry)
    return _read_scored(layout, entry, like)


def _read_invalid(layout: RunLayout, entry: InvalidEntry) -> SlotOutcome:
    path = layout.error(entry.slot)
    error = read_part(path, ErrorFile, entry.slot)
    wanted = ErrorFile(candidate_id=entry.candidate_id, reason=entry.reason, evidence_dir=entry.evidence_dir)
    _same(entry.slot, path, wanted, error, f"'{layout.state}'")
    return SlotOutcome(entry.slot, entry.candidate_id, None, entry.reason, entry.evidence_dir)


def _read_scored(layout: RunLayout, entry: ScoredEntry, like: SourceTree | None) -> SlotOutcome:
    slot, path = entry.slot, layout.report(entry.slot)
    report = read_report(layout, entry)
    tree = read_source(layout, slot, like)
    _check_doc_hash(layout, slot, tree, report.doc_hash, path)
    if slot > 0:
        wanted = ProposalFile(
            candidate_id=entry.candidate_id,
            doc_hash=entry.doc_hash,
            tree_hash=tree_hash(tree),
            evidence_dir=entry.evidence_dir,
        )
        proposal = layout.proposal(slot)
        _same(slot, proposal, wanted, read_part(proposal, ProposalFile, slot), "its source and the index")
    candidate = EvaluatedCandidate(entry.candidate_id, tree, report, entry.evidence_dir)
    return SlotOutcome(slot, entry.candidate_id, candidate, evidence_dir=entry.evidence_dir)


def read_report(layout: RunLayout, entry: ScoredEntry) -> ScoreReport:
    """Read a scored slot's report, held against the index. Raises BadDocument that names the slot and the file."""
    slot, path = entry.slot, layout.report(entry.slot)
    report = read_part(path, ScoreReport, slot)
    if report.doc_hash != entry.doc_hash:
        raise BadDocument(f"slot {slot}: '{path}' is about document '{shown(report.doc_hash)}', "
                          f"'{layout.state}' about '{shown(entry.doc_hash)}': {REMEDY}")  # fmt: skip
    if not math.isclose(report.score, entry.score, abs_tol=SCORE_TOLERANCE):
        raise BadDocument(f"slot {slot}: '{path}' scores {report.score}, "
                          f"'{layout.state}' says {entry.score}: {REMEDY}")  # fmt: skip
    if any(cell.infra_failed for cell in report.cells):
        raise BadDocument(f"slot {slot}: '{path}' holds a stand-in reward (infra_failed): {REMEDY}")
    return report


def check_same_matrix(layout: RunLayout, seed: SlotOutcome, outcome: SlotOutcome) -> None:
    """Raise BadDocument where a candidate was scored under another request or reward mode than the seed."""
    if outcome.candidate is None or seed.candidate is None:
        return
    ours, theirs = outcome.candidate.report, seed.candidate.report
    for name, mine, seeds in (
        ("request", ours.request, theirs.request),
        ("reward_mode", ours.reward_mode, theirs.reward_mode),
    ):
        if mine != seeds:
            path = layout.report(outcome.slot)
            raise BadDocument(f"slot {outcome.slot}: '{path}' has another {name} than the seed's report: {REMEDY}")


def read_pending(layout: RunLayout, slot: int) -> CandidateProposal | None:
    """Read the accepted candidate that waits for its scores; None where the slot has none. Raises BadDocument."""
    try:
        pending = read_part(layout.pending(slot), PendingFile, slot)
    except BadDocument as error:
        if isinstance(error.__cause__, FileNotFoundError):  # not a second look: it may have been written meanwhile
            return None
        raise
    proposal = read_part(layout.proposal(slot), ProposalFile, slot)
    tree = read_source(layout, slot)
    _check_doc_hash(layout, slot, tree, pending.doc_hash, layout.pending(slot))
    wanted = PendingFile(candidate_id=candidate_slot_id(slot), doc_hash=pending.doc_hash, tree_hash=tree_hash(tree))
    _same(slot, layout.pending(slot), wanted, pending, "its source")
    _same(slot, layout.proposal(slot), wanted, PendingFile(**proposal.model_dump(exclude={"evidence_dir"})),
          "its source")  # fmt: skip
    return CandidateProposal(pending.candidate_id, tree, proposal.evidence_dir)


def read_part(path: Path, model: type[PartT], slot: int) -> PartT:
    """Read one of a slot's JSON files. Raises BadDocument that names the slot and the file."""
    with reading(f"slot {slot}", path):
        refuse_link(path.parent)
        return read_json_part(path, model)


def read_source(layout: RunLayout, slot: int, like: SourceTree | None = None) -> SourceTree:
    """Read a slot's source tree, sharing with `like` what is the same. Raises BadDocument (slot and folder)."""
    directory = layout.source_dir(slot)
    with reading(f"slot {slot}", directory):
        refuse_link(directory.parent)
        refuse_link(directory)
        return read_tree(directory, SEED_BOUNDS if slot == 0 else PROPOSER_BOUNDS, like=like)


def refuse_link(directory: Path) -> None:
    """Raise BadDocument where a folder of the run is a link: what is written through it lands outside the run."""
    if directory.is_symlink():
        raise BadDocument(f"'{directory}' is a symlink")


def _check_doc_hash(layout: RunLayout, slot: int, tree: SourceTree, wanted: str, where: Path) -> None:
    with reading(f"slot {slot}", layout.source_dir(slot)):
        found = doc_hash(parse_tree(tree))
    if found != wanted:
        raise BadDocument(f"slot {slot}: source '{layout.source_dir(slot)}' hashes to '{found}', "
                          f"'{where}' says '{shown(wanted)}': {REMEDY}")  # fmt: skip


def _same(slot: int, path: Path, wanted: Part, found: Part, against: str) -> None:
    """Raise BadDocument for the first field in which a file differs from what it must say."""
    for name, value in wanted:
        said = getattr(found, name)
        if said != value:
            raise BadDocument(f"slot {slot}: '{path}' has {name} '{shown(said)}', {against} '{shown(value)}': {REMEDY}")
