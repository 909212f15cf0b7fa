"""The run directory and the search. This is the documented Python face; the tools import the modules below it."""

from wmo_kit.atomic import write_json_atomic

from wmo_population.optimize import optimize
from wmo_population.outcomes import (
    CandidateProposal,
    CandidateProposalError,
    CandidateProposer,
    EvaluatedCandidate,
    PopulationResult,
    Scorer,
    SlotOutcome,
)
from wmo_population.slots import candidate_slot_id
from wmo_population.state import PopulationRunState

__all__ = [
    "CandidateProposal",
    "CandidateProposalError",
    "CandidateProposer",
    "EvaluatedCandidate",
    "PopulationResult",
    "PopulationRunState",
    "Scorer",
    "SlotOutcome",
    "candidate_slot_id",
    "optimize",
    "write_json_atomic",
]
