"""The steps of a search on one run. `optimize` and the tools are two thin callers of this class.

Every method is called with the run's lock held (see lock.py and recorded.py).
"""

import os
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.base import mend_text
from wmo_contracts.run import ErrorFile, NextStep
from wmo_contracts.score import RewardMode, ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree, check_bounds, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_kit.errors import BadDocument, Conflict, Transient, shown

from wmo_population.durable import sweep
from wmo_population.evidence import REMEDY, read_part
from wmo_population.layout import RunLayout
from wmo_population.outcomes import CandidateProposal, CandidateProposalError, EvaluatedCandidate, SlotOutcome
from wmo_population.slots import candidate_slot_id, next_step
from wmo_population.state import PopulationRunState


class OtherPlan(Conflict):
    """A run was started with another seed, request or reward mode than what is asked."""


@dataclass(frozen=True)
class Plan:
    """What a run is for: the fixed seed, the matrix, and how many slots follow the seed.

    `reward_mode` None leaves the mode to the first report; every later one must agree with it.
    """

    seed: SourceTree
    request: ScoreRequest
    iterations: int
    reward_mode: RewardMode | None = None


class Run:
    """A run that is worked on: where it is, and the boundaries that move it on.

    Construction checks the plan against the record (seed, request, number of slots), finishes what a kill left half
    done, and stages the seed. Raises BadDocument where evidence does not hold, Conflict where the plan is another.
    """

    def __init__(self, run_dir: Path, plan: Plan) -> None:
        self.layout = RunLayout(run_dir)
        self.plan = plan
        _check_iterations(plan.iterations)
        self.state = PopulationRunState(run_dir)
        check_plan(self.state, plan)
        self._sweep()
        self.state.finish_commit()
        if self.state.consumed == 0:
            self.state.stage_seed(plan.seed)
        self._pending = self.state.load_pending(self.state.consumed)

    def _sweep(self) -> None:
        slot = self.state.consumed
        for directory in (
            self.layout.run_dir,
            self.layout.candidate_dir(slot),
            self.layout.candidate_dir(max(slot - 1, 0)),
        ):
            sweep(directory)

    @property
    def next(self) -> NextStep:
        """What the run does next."""
        return next_step(self.state.consumed, self.plan.iterations, pending=self._pending is not None)

    def candidate_dir(self, slot: int) -> Path:
        """Give a slot's candidate folder; `source/` in it is the tree, `trials/` beside it is the scorer's own."""
        return self.layout.candidate_dir(slot)

    def proposal_dir(self, slot: int) -> Path:
        """Give the folder for the raw evidence of a slot's proposer turn; layout.evidence_dir(slot) is its name."""
        return self.layout.proposal_dir(slot)

    @property
    def outcomes(self) -> tuple[SlotOutcome, ...]:
        """Every consumed slot, its evidence re-hashed (once in a process). Raises BadDocument."""
        return self.state.load()

    @property
    def population(self) -> tuple[EvaluatedCandidate, ...]:
        """Every evaluated candidate in slot order, the seed first; verified as `outcomes` are."""
        return tuple(outcome.candidate for outcome in self.outcomes if outcome.candidate is not None)

    @property
    def due(self) -> CandidateProposal:
        """The candidate that waits for its scores: the seed, or the accepted proposal. Raises Conflict for none."""
        step = self._expect("score-seed", "score")
        if step.step == "score-seed":
            return CandidateProposal(candidate_slot_id(0), self.plan.seed)
        if self._pending is None:
            raise AssertionError("step 'score' without a pending candidate")
        return self._pending

    def finished_report(self) -> ScoreReport | None:
        """Give the report of the due candidate where a kill came between it and state.json: commit it, score nothing.

        Raises BadDocument where there is a report that is not about this candidate and request, or one that holds a
        stand-in reward; Conflict as `due`.
        """
        slot, due = self.next.slot, self.due
        path = self.layout.report(slot)
        if not os.path.lexists(path):
            return None
        report = read_part(path, ScoreReport, slot)
        try:
            self._check_report(report, due)
        except (BadDocument, Transient) as error:  # the same command would find it again
            raise BadDocument(f"slot {slot}: {error}: move '{path}' away to score again") from error
        return report

    def commit_scored(self, report: ScoreReport) -> SlotOutcome:
        """Commit the scores of the due candidate. A report that does not answer the plan is refused unwritten.

        Raises BadDocument; Transient for a stand-in reward (`infra_failed`): a search records none; Conflict as `due`.
        """
        due = self.due
        self._check_report(report, due)
        candidate = EvaluatedCandidate(due.candidate_id, due.tree, report, due.evidence_dir)
        return self._commit(SlotOutcome(self.next.slot, due.candidate_id, candidate, evidence_dir=due.evidence_dir))

    def record_pending(self, tree: SourceTree, evidence_dir: str = "") -> CandidateProposal:
        """Accept a proposal for the next slot: checkpoint it. `evidence_dir` is relative to the run.

        Raises CandidateProposalError, with nothing written, for a tree that is no valid harness or too large; Conflict
        where the next step is not to propose.
        """
        slot = self._expect("propose").slot
        try:
            check_bounds(tree)
            parse_tree(tree)
        except BadDocument as error:
            raise CandidateProposalError(f"not a valid candidate: {error}", evidence_dir) from error
        proposal = CandidateProposal(candidate_slot_id(slot), tree, evidence_dir)
        self.state.record_pending(slot, proposal)
        self._pending = proposal
        return proposal

    def recorded_rejection(self) -> CandidateProposalError | None:
        """Give the rejection of the next slot where a kill came between error.json and state.json: commit it.

        Raises BadDocument; Conflict where the next step is not to propose.
        """
        slot = self._expect("propose").slot
        path = self.layout.error(slot)
        if not os.path.lexists(path):
            return None
        error = read_part(path, ErrorFile, slot)
        if error.candidate_id != candidate_slot_id(slot):
            raise BadDocument(f"slot {slot}: '{path}' is about '{shown(error.candidate_id)}': {REMEDY}")
        return CandidateProposalError(error.reason, error.evidence_dir)

    def commit_invalid(self, reason: str, evidence_dir: str = "") -> SlotOutcome:
        """Consume the next slot without a candidate. Raises Conflict where the next step is not to propose."""
        slot = self._expect("propose").slot
        told = mend_text(reason)  # it may quote text that has lone surrogates
        return self._commit(SlotOutcome(slot, candidate_slot_id(slot), None, told, evidence_dir))

    def _commit(self, outcome: SlotOutcome) -> SlotOutcome:
        self.state.commit(outcome)
        self._pending = None
        return outcome

    def _expect(self, *steps: str) -> NextStep:
        step = self.next
        if step.step not in steps:
            raise Conflict(f"run '{self.layout.run_dir}' is not at {' or '.join(steps)}: "
                           f"its next step is '{step.step}' (slot {step.slot})")  # fmt: skip
        return step

    def _check_report(self, report: ScoreReport, due: CandidateProposal) -> None:
        subject = f"bad report of '{due.candidate_id}'"
        wanted = doc_hash(parse_tree(due.tree))
        if report.doc_hash != wanted:
            raise BadDocument(
                f"{subject}: it is about document '{shown(report.doc_hash)}', the candidate is '{wanted}'"
            )
        if report.request != self.plan.request:
            raise BadDocument(f"{subject}: it answers {_show(report.request)}, the run asks {_show(self.plan.request)}")
        mode = self._reward_mode
        if mode is not None and report.reward_mode != mode:
            raise BadDocument(f"{subject}: its reward mode is '{report.reward_mode}', the run's is '{mode}'")
        for cell in report.cells:
            if cell.infra_failed:
                raise Transient(f"{subject}: task '{cell.task_id}' attempt {cell.attempt} has no verifier reward")

    @property
    def _reward_mode(self) -> RewardMode | None:
        if self.plan.reward_mode is None and self.state.consumed:
            seed = self.state.load_slot(0).candidate
            return None if seed is None else seed.report.reward_mode
        return self.plan.reward_mode


def check_plan(state: PopulationRunState, plan: Plan) -> None:
    """Raise OtherPlan where a plan is not the one that the run was started with, and as check_slots; BadDocument."""
    check_slots(state, plan.iterations)
    run_dir = state.layout.run_dir
    seed = state.load_slot(0).candidate if state.consumed else None
    if seed is None:
        return
    if seed.tree != plan.seed:
        raise OtherPlan(f"run '{run_dir}' started from seed tree '{tree_hash(seed.tree)}', this seed is "
                        f"'{tree_hash(plan.seed)}': use the same seed, or a new run directory")  # fmt: skip
    if seed.report.request != plan.request:
        raise OtherPlan(f"run '{run_dir}' asks {_show(seed.report.request)}, this request is {_show(plan.request)}: "
                        "ask the same, or use a new run directory")  # fmt: skip
    if plan.reward_mode is not None and seed.report.reward_mode != plan.reward_mode:
        raise OtherPlan(f"run '{run_dir}' has reward mode '{seed.report.reward_mode}', asked is '{plan.reward_mode}': "
                        "ask the same, or use a new run directory")  # fmt: skip


def check_slots(state: PopulationRunState, iterations: int) -> None:
    """Raise Conflict where a run has more slots than a plan of `iterations` after the seed."""
    if state.consumed > iterations + 1:
        raise Conflict(
            f"run '{state.layout.run_dir}' has {state.consumed - 1} slots after the seed, but only {iterations} are "
            "asked for: ask for at least as many"
        )


def _check_iterations(iterations: int) -> None:
    if type(iterations) is not int or iterations < 0:
        raise ValueError(f"iterations is an integer of 0 or more, not {iterations!r}")


def _show(request: ScoreRequest) -> str:
    return f"{request.attempts} attempts at tasks {shown(', '.join(request.task_ids))}"
