"""The run directory as storage: checkpoint, commit, load. Order of writes is the whole point of this module."""

import os
from pathlib import Path

from wmo_contracts.base import dump_text
from wmo_contracts.run import ErrorFile, PendingFile, ProposalFile, StateEntry
from wmo_harness.source_tree import SEED_BOUNDS, SourceTree, check_bounds, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_harness.tree_io import write_tree
from wmo_kit.atomic import write_text_atomic
from wmo_kit.errors import BadDocument, Conflict

from wmo_population.durable import holds_tree, make_directory, remove_directory, unlink, write_part
from wmo_population.evidence import REMEDY, check_same_matrix, read_index, read_pending, read_slot, reading, refuse_link
from wmo_population.layout import RunLayout
from wmo_population.outcomes import CandidateProposal, SlotOutcome
from wmo_population.slots import candidate_slot_id

_HEAD, _TAIL = '{\n  "outcomes": [\n', "\n  ]\n}\n"


class PopulationRunState:
    """The durable state of one run. Construction reads and checks the index (state.json). Raises BadDocument, OSError.

    Slots that this process has read or written once are not read again: hold the run's lock while you use it.
    """

    def __init__(self, run_dir: Path) -> None:
        self.layout = RunLayout(run_dir)
        index = read_index(self.layout)
        self._entries = list(index.entries)
        self._text = index.text
        self._verified: dict[int, SlotOutcome] = {}

    @property
    def entries(self) -> tuple[StateEntry, ...]:
        """The index as state.json has it; what it points at is not verified."""
        return tuple(self._entries)

    @property
    def consumed(self) -> int:
        """The number of consumed slots, which is also the first slot that is not."""
        return len(self._entries)

    def load(self) -> tuple[SlotOutcome, ...]:
        """Give every consumed slot in order, its evidence re-hashed. Raises BadDocument that names slot and file."""
        return tuple(self.load_slot(slot) for slot in range(self.consumed))

    def load_slot(self, slot: int) -> SlotOutcome:
        """Give one consumed slot, re-hashed. Raises BadDocument, and IndexError for a slot that is not consumed."""
        if slot not in self._verified:
            seed = self.load_slot(0) if slot > 0 else None
            like = seed.candidate.tree if seed and seed.candidate else None
            outcome = read_slot(self.layout, self._entries[slot], like)
            if seed is not None:
                check_same_matrix(self.layout, seed, outcome)
            self._verified[slot] = outcome
        return self._verified[slot]

    def load_pending(self, slot: int) -> CandidateProposal | None:
        """Give the accepted candidate of `slot` that is not scored yet, or None. Raises BadDocument."""
        return read_pending(self.layout, slot)

    def record_pending(self, slot: int, proposal: CandidateProposal) -> None:
        """Checkpoint an accepted candidate: source/, proposal.json, then pending.json.

        After this returns, no second proposer turn is needed for the slot, whatever dies. Raises Conflict, OSError,
        and BadDocument for a tree that is no harness.
        """
        self._check_next(slot, proposal.candidate_id)
        pending = PendingFile(
            candidate_id=proposal.candidate_id,
            doc_hash=doc_hash(parse_tree(proposal.tree)),
            tree_hash=tree_hash(proposal.tree),
        )
        make_directory(self.layout.candidate_dir(slot), inside=self.layout.run_dir)
        unlink(self.layout.error(slot))
        self._stage(slot, proposal.tree)
        write_part(self.layout.proposal(slot), ProposalFile(**pending.model_dump(), evidence_dir=proposal.evidence_dir))
        write_part(self.layout.pending(slot), pending)

    def stage_seed(self, seed: SourceTree) -> None:
        """Write the seed's source/, where it is not there already. Raises Conflict, BadDocument, OSError."""
        self._check_next(0, candidate_slot_id(0))
        check_bounds(seed, SEED_BOUNDS)
        self._stage(0, seed)

    def commit(self, outcome: SlotOutcome) -> None:
        """Commit a boundary: the evidence, then state.json, then pending.json goes.

        Evidence that is already right on disk is left as it is, so that a kill can lose none of it; a source that
        differs from its checkpoint is an error, because something else than what it holds was scored. Raises Conflict,
        BadDocument, OSError.
        """
        slot = outcome.slot
        self._check_next(slot, outcome.candidate_id)
        if outcome.candidate is None:
            self._drop_unaccepted(slot)
            error = ErrorFile(
                candidate_id=outcome.candidate_id, reason=outcome.reason, evidence_dir=outcome.evidence_dir
            )
            write_part(self.layout.error(slot), error)
        else:
            candidate = outcome.candidate
            self._hold_checkpoint(
                slot, CandidateProposal(candidate.candidate_id, candidate.tree, candidate.evidence_dir)
            )
            write_part(self.layout.report(slot), candidate.report)
        self._write_index(outcome.entry())
        self._verified[slot] = outcome
        unlink(self.layout.pending(slot))

    def finish_commit(self) -> None:
        """Remove the pending.json of the last consumed slot, which a kill right after its commit leaves behind."""
        if self._entries:
            unlink(self.layout.pending(self.consumed - 1))

    def _check_next(self, slot: int, candidate_id: str) -> None:
        if slot != self.consumed:
            raise Conflict(f"slot {slot} is not the next one of '{self.layout.run_dir}': that is slot {self.consumed}")
        if candidate_id != candidate_slot_id(slot):
            raise Conflict(f"slot {slot} belongs to '{candidate_slot_id(slot)}', not to '{candidate_id}'")

    def _hold_checkpoint(self, slot: int, proposal: CandidateProposal) -> None:
        """See that the disk holds what was scored, before its report is written beside it."""
        source = self.layout.source_dir(slot)
        if slot == 0:
            intact = not os.path.lexists(source) or holds_tree(source, proposal.tree)
        else:
            checkpoint = self.load_pending(slot)
            intact = checkpoint in (None, proposal)
        if not intact:
            raise BadDocument(f"slot {slot}: '{source}' is not what was scored: {REMEDY}")
        if slot == 0:
            self.stage_seed(proposal.tree)
        elif checkpoint is None:
            self.record_pending(slot, proposal)

    def _stage(self, slot: int, tree: SourceTree) -> None:
        make_directory(self.layout.candidate_dir(slot), inside=self.layout.run_dir)
        with reading(f"slot {slot}", self.layout.source_dir(slot)):
            refuse_link(self.layout.candidate_dir(slot))
            refuse_link(self.layout.source_dir(slot))
        if not holds_tree(self.layout.source_dir(slot), tree):
            write_tree(tree, self.layout.source_dir(slot))

    def _drop_unaccepted(self, slot: int) -> None:
        """Remove what a killed earlier checkpoint of the slot left: it was never accepted."""
        if os.path.lexists(self.layout.pending(slot)):
            raise Conflict(f"slot {slot} holds an accepted candidate: score it, it cannot be recorded as invalid")
        make_directory(self.layout.candidate_dir(slot), inside=self.layout.run_dir)
        unlink(self.layout.proposal(slot))
        remove_directory(self.layout.source_dir(slot))

    def _write_index(self, entry: StateEntry) -> None:
        """Write state.json with one more entry, behind the others' text as it stands: to encode all grows with the run.

        That the file has one key and ends like this makes the last thing in it the list's last entry.
        """
        if self._text.endswith("\n    }" + _TAIL):
            text = self._text.removesuffix(_TAIL) + ",\n" + _entry_text(entry)
        else:
            text = _HEAD + ",\n".join(map(_entry_text, [*self._entries, entry]))
        text += _TAIL
        write_text_atomic(self.layout.state, text)
        self._entries.append(entry)
        self._text = text


def _entry_text(entry: StateEntry) -> str:
    """Give an entry as it stands in state.json, two levels deep. Line feeds inside JSON strings are escaped ones."""
    text = dump_text(dict(sorted(entry.model_dump(mode="json").items()))).removesuffix("\n")
    return "    " + text.replace("\n", "\n    ")
