"""The whole search as one call, for people who embed it."""

from collections.abc import Callable
from pathlib import Path

from wmo_harness.source_tree import SourceTree

from wmo_population.durable import make_directory
from wmo_population.lock import RunLock
from wmo_population.outcomes import (
    CandidateProposal,
    CandidateProposalError,
    CandidateProposer,
    PopulationResult,
    Scorer,
    SlotOutcome,
)
from wmo_population.slots import candidate_slot_id, select_best
from wmo_population.steps import Plan, Run


def optimize(
    seed: SourceTree,
    scorer: Scorer,
    proposer: CandidateProposer,
    iterations: int,
    *,
    run_dir: Path,
    should_cancel: Callable[[], bool] | None = None,
    max_new_boundaries: int | None = None,
    on_boundary: Callable[[SlotOutcome], None] | None = None,
) -> PopulationResult:
    """Score the seed once, then propose and score `iterations` slots in order; resumes what `run_dir` already holds.

    `iterations` 0 only scores the seed. `should_cancel` is polled before every scoring and every proposal,
    `max_new_boundaries` (>= 0) bounds the slots consumed by this call: both end it early with a result that is not
    `completed`, and the same call again goes on. `on_boundary` hears of every slot right after its commit.

    Raises Locked where another process works on the run; Conflict where the run was started with another seed or
    request or has more slots than `iterations`; BadDocument where its evidence does not hold; OSError; and whatever
    the scorer and the proposer raise, except CandidateProposalError, which consumes a slot.
    """
    make_directory(run_dir)
    with RunLock(run_dir):
        run = Run(run_dir, Plan(seed, scorer.request, iterations))
        run.state.load()
        left = max_new_boundaries
        while run.next.step != "done" and left != 0 and not (should_cancel and should_cancel()):
            outcome = _advance(run, scorer, proposer)
            if outcome is None:
                continue
            left = None if left is None else left - 1
            if on_boundary:
                on_boundary(outcome)
        return PopulationResult(
            outcomes=run.outcomes,
            population=run.population,
            best=select_best(run.population),
            completed=run.next.step == "done",
        )


def _advance(run: Run, scorer: Scorer, proposer: CandidateProposer) -> SlotOutcome | None:
    """Do the run's next step. Gives the slot that it consumed; None where a candidate was accepted."""
    if run.next.step == "propose":
        try:
            _propose(run, proposer)
        except CandidateProposalError as error:
            return run.commit_invalid(error.reason, error.evidence_dir)
        return None
    due = run.due
    return run.commit_scored(run.finished_report() or scorer.score(due.candidate_id, due.tree))


def _propose(run: Run, proposer: CandidateProposer) -> CandidateProposal:
    slot = run.next.slot
    if rejection := run.recorded_rejection():
        raise rejection
    proposal = proposer.propose(slot, run.plan.seed, run.population)
    if proposal.candidate_id != candidate_slot_id(slot):
        raise ValueError(f"the proposer gave '{proposal.candidate_id}' for slot {slot}")
    return run.record_pending(proposal.tree, proposal.evidence_dir)
