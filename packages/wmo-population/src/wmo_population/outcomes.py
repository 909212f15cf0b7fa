"""What a search speaks of: proposals, evaluated candidates, slot outcomes, and the two roles that an embedder fills."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from wmo_contracts.run import InvalidEntry, ScoredEntry, StateEntry
from wmo_contracts.score import ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import Negative


@dataclass(frozen=True)
class EvaluatedCandidate:
    """A complete harness and its finished scores. `evidence_dir`: the proposal's, relative to the run; "" for none."""

    candidate_id: str
    tree: SourceTree
    report: ScoreReport
    evidence_dir: str = ""

    @property
    def score(self) -> float:
        """The report's score, 0 to 1."""
        return self.report.score

    @property
    def doc_hash(self) -> str:
        """The hash of the document that was scored."""
        return self.report.doc_hash


@dataclass(frozen=True)
class CandidateProposal:
    """A complete candidate that waits for its scores. `evidence_dir` as in EvaluatedCandidate."""

    candidate_id: str
    tree: SourceTree
    evidence_dir: str = ""


class CandidateProposalError(Negative):
    """A proposer's turn gave no valid complete candidate. The slot is consumed; `reason` is recorded as evidence."""

    def __init__(self, reason: str, evidence_dir: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.evidence_dir = evidence_dir


@dataclass(frozen=True)
class SlotOutcome:
    """A consumed slot: the evaluated candidate, or None and the reason why there is none."""

    slot: int
    candidate_id: str
    candidate: EvaluatedCandidate | None
    reason: str = ""
    evidence_dir: str = ""

    @property
    def kind(self) -> Literal["scored", "invalid"]:
        """The word that state.json has for it."""
        return "invalid" if self.candidate is None else "scored"

    @property
    def score(self) -> float | None:
        """The candidate's score, 0 to 1; None where the slot is invalid."""
        return None if self.candidate is None else self.candidate.score

    def entry(self) -> StateEntry:
        """Give the outcome's entry in state.json."""
        if self.candidate is None:
            return InvalidEntry(
                slot=self.slot, candidate_id=self.candidate_id, reason=self.reason, evidence_dir=self.evidence_dir
            )
        return ScoredEntry(
            slot=self.slot,
            candidate_id=self.candidate_id,
            score=self.candidate.score,
            doc_hash=self.candidate.doc_hash,
            evidence_dir=self.evidence_dir,
        )


@dataclass(frozen=True)
class PopulationResult:
    """What a search has so far. `best` is None until the seed is scored; `completed`: every slot is consumed."""

    outcomes: tuple[SlotOutcome, ...]
    population: tuple[EvaluatedCandidate, ...]
    best: EvaluatedCandidate | None
    completed: bool

    @property
    def best_score(self) -> float | None:
        """The best candidate's score, 0 to 1; None until the seed is scored."""
        return None if self.best is None else self.best.score


class Scorer(Protocol):
    """Measures harnesses under one fixed request."""

    @property
    def request(self) -> ScoreRequest:
        """The task-by-attempt matrix that every report of this scorer answers."""
        ...

    def score(self, candidate_id: str, tree: SourceTree) -> ScoreReport:
        """Give the finished report of `tree`. Any failure is raised and ends the search: it is never a reward."""
        ...


class CandidateProposer(Protocol):
    """Makes one complete candidate out of the seed and everything that was measured so far."""

    def propose(self, slot: int, seed: SourceTree, population: Sequence[EvaluatedCandidate]) -> CandidateProposal:
        """Give the candidate of `slot` (its id is candidate_slot_id(slot)).

        `seed` is the fixed seed stage, `population` every evaluated candidate in slot order, the seed first. Raises
        CandidateProposalError where the turn gave none: that consumes the slot. Any other error ends the search.
        """
        ...
