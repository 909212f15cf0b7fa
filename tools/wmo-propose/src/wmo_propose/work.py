"""One slot's proposal, from the run's next step to its checkpoint or its recorded rejection."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wmo_contracts.candidate import CandidateDocument, RejectionDocument
from wmo_contracts.run import ErrorFile, ProposerSettings, TurnStatus
from wmo_episode.node_check import check_node
from wmo_harness.documents import to_document
from wmo_harness.pi_agent import find_vendor_dir, runtime_dir
from wmo_harness.source_tree import PROPOSER_BOUNDS, SourceTree, tree_hash
from wmo_harness.surfaces import parse_tree
from wmo_harness.tree_io import read_tree
from wmo_kit.config import Config, load_config
from wmo_kit.documents import emit
from wmo_kit.errors import BadDocument, Cancelled, Conflict, Missing, Negative, Transient
from wmo_kit.log import Log
from wmo_kit.stopping import Stop, deferred_signals
from wmo_models.endpoint import open_provider
from wmo_population.events import note_event
from wmo_population.evidence import REMEDY, reading, refuse_link
from wmo_population.outcomes import CandidateProposalError
from wmo_population.recorded import RecordedRun, open_run
from wmo_population.run_record import hidden_paths, recorded_dirs, require_suite
from wmo_population.slots import candidate_slot_id
from wmo_population.verdict import read_own_verdict, verdict_path
from wmo_suites.allowed import read_words
from wmo_suites.disk import check_room
from wmo_suites.recorded import require_recordings
from wmo_suites.task import Task, load_task
from wmo_suites.workspace import remove_workspace

from wmo_propose.command_proposer import Boxed, CommandProposer
from wmo_propose.covers import covers
from wmo_propose.evidence import close_evidence, open_evidence, write_events
from wmo_propose.gate import Checked, check_candidate
from wmo_propose.leak_check import leak_problems
from wmo_propose.pi_proposer import PiProposer
from wmo_propose.request import write_request
from wmo_propose.settings import proposer_config, proposer_settings
from wmo_propose.source_check import SourceGate
from wmo_propose.task_texts import read_task_texts
from wmo_propose.turn import Turn, TurnTaker
from wmo_propose.workspace import Workspace, build_workspace, manifest

GATE_GRACE_S = 1.0
"""How long the check of a finished turn may still take after a signal; on an idle machine it takes 0.3 s."""


def run(log: Log, run_dir: Path, *, vendor: Path | None, proposer: str | None, argv: Sequence[str]) -> None:
    """Make the next slot's proposal and print its wmo.candidate/1.

    Raises Negative after a rejection was committed and printed; Conflict where something else comes next, or nothing
    may after as many rejections in a row as the run allows; BudgetReached where its models used what they may;
    Transient where the proposer's model failed, with nothing consumed; and what the run, pi and node raise.
    """
    with open_run(run_dir.absolute()) as opened:  # its folders are mounted: a relative path would depend on who mounts
        _expect_propose(opened)
        settings = proposer_settings(opened.settings.proposer, proposer, argv)
        config = proposer_config(opened.settings, load_config(flags={"vendor": vendor}))
        document = _settle(opened)
        if document is None:
            opened.refuse_without_consent()
            opened.refuse_after_rejections()
            opened.refuse_over_budget()
            document = _propose(log, opened, settings, config)
    emit(document)
    if isinstance(document, RejectionDocument):
        raise Negative(f"slot {document.slot} is rejected: {document.reason}")
    log.say("accepted", f"slot {document.slot}: {document.candidate_id} waits for its scores", slot=document.slot)


def _expect_propose(opened: RecordedRun) -> None:
    step = opened.next
    if step.step == "done":
        raise Conflict(f"run '{opened.layout.run_dir}' is complete: its {step.slot} slots are consumed")
    if step.step != "propose":
        raise Conflict(
            f"run '{opened.layout.run_dir}' is not at a proposal: next is '{step.step}' of slot {step.slot}; "
            f"run 'wmo-score --run {opened.layout.run_dir}' first"
        )


def _settle(opened: RecordedRun) -> CandidateDocument | RejectionDocument | None:
    """Finish what a kill left between a turn's verdict and its commit: no second turn is bought for it."""
    slot = opened.next.slot
    status = read_own_verdict(opened.layout, slot)
    if rejection := opened.recorded_rejection():
        told = ("rejected", rejection.reason, rejection.evidence_dir)
        if status is not None and (status.status, _reason(status), opened.layout.evidence_dir(slot)) != told:
            raise BadDocument(
                f"slot {slot}: '{opened.layout.error(slot)}' and '{verdict_path(opened.layout, slot)}' contradict each "
                f"other: {REMEDY}"
            )
        return _reject(opened, rejection.reason, rejection.evidence_dir)
    if status is None:
        return None
    return _commit(opened, status)


def _propose(
    log: Log, opened: RecordedRun, settings: ProposerSettings, config: Config
) -> CandidateDocument | RejectionDocument:
    slot, started = opened.next.slot, time.monotonic()
    log.say("proposing", f"slot {slot}: the proposer '{settings.kind}' is at work", slot=slot)
    vendor_dir = find_vendor_dir(config.vendor, Path.cwd())
    runtime = runtime_dir(vendor_dir)
    check_node(runtime, opened.settings.sandbox)
    with _turn_taker(log, opened, settings, config, vendor_dir) as agent, deferred_signals() as stop:
        # a turn that came to its end is paid for: a signal after that waits for the verdict, within GATE_GRACE_S
        gate = SourceGate(runtime, opened.settings.sandbox, opened.work_dir, stop.overdue(GATE_GRACE_S))
        turn, checked = _take_turn(opened, agent, gate, stop)
        return _conclude(log, opened, turn, checked, started)


def _conclude(
    log: Log, opened: RecordedRun, turn: Turn, checked: Checked, started: float
) -> CandidateDocument | RejectionDocument:
    """Keep the verdict on a turn that began at `started` (time.monotonic()), and commit it."""
    slot = opened.next.slot
    directory = opened.proposal_dir(slot)
    status = _verdict(turn, checked)
    error = None
    if not checked.accepted:
        error = ErrorFile(
            candidate_id=candidate_slot_id(slot),
            reason=_reason(status),
            evidence_dir=opened.layout.evidence_dir(slot),
        )
    close_evidence(directory, status, checked.tree, error)
    document = _commit(opened, status)
    note_event(
        log,
        opened.layout.run_dir,
        status.status,
        slot,
        candidate_id=document.candidate_id,
        seconds=round(time.monotonic() - started, 3),
        usage=turn.usage.model_dump(),
    )
    return document


@contextmanager
def _turn_taker(
    log: Log, opened: RecordedRun, settings: ProposerSettings, config: Config, vendor_dir: Path
) -> Iterator[TurnTaker]:
    mode = opened.settings.sandbox
    hidden = hidden_paths(opened.layout.run_dir, opened.settings)
    covered = () if mode == "none" else covers(hidden, opened.work_dir, _workspace_root(opened).resolve())
    if settings.kind == "command":
        allowed = read_words(settings.allow, hidden)
        box = None if mode == "none" else Boxed(allowed, allowed.environment(os.environ), covered)
        yield CommandProposer(settings.argv, box)
        return
    context_window = config.roles.proposer.context_window
    with open_provider(config, "proposer", log) as provider:
        yield PiProposer(provider, vendor_dir, mode, opened.work_dir, context_window, covered)


def _workspace_root(opened: RecordedRun) -> Path:
    return opened.work_dir / f"propose-slot-{opened.next.slot:04d}"


def _take_turn(opened: RecordedRun, agent: TurnTaker, gate: SourceGate, stop: Stop) -> tuple[Turn, Checked]:
    """Let the agent work on a fresh workspace and check what it left.

    Raises BadDocument where a task or the recorded episodes are not there any more, before anything is paid; Transient
    or Missing for an outage and Cancelled where `stop` came before the turn's end, the evidence kept
    in each case.
    """
    slot, seed = opened.next.slot, opened.plan.seed
    spec = parse_tree(seed)
    suite = require_suite(opened.layout.run_dir, opened.settings)
    tasks = [load_task(suite / task_id) for task_id in opened.settings.request.task_ids]  # before the turn is paid
    folders = recorded_dirs(opened.layout.run_dir, opened.settings)
    require_recordings(folders, opened.settings.recorded_hash)  # likewise: without them its candidate is never scored
    history = manifest(opened.layout, opened.state.entries)
    judged = opened.settings.judge is not None
    place = opened.settings.environment
    request = write_request(slot, opened.plan.iterations, spec, history, environment=place, judged=judged)
    link = opened.settings.sandbox == "none"
    workspace = build_workspace(
        _workspace_root(opened), opened.layout, history, seed, request, link=link, judged=judged
    )
    directory = opened.proposal_dir(slot)
    if stop.event.is_set():
        raise Cancelled(f"the turn for slot {slot} was not begun")
    check_room(workspace.root)  # before the turn is paid
    open_evidence(directory, request)
    try:
        turn = agent.take_turn(workspace, stop)
    finally:
        workspace.unlock()
    try:
        return turn, _check(opened, workspace, turn, gate, tasks)
    finally:
        remove_workspace(workspace.root)  # here: it may be deeper than whatever removes our own folders can go


def _check(opened: RecordedRun, workspace: Workspace, turn: Turn, gate: SourceGate, tasks: Sequence[Task]) -> Checked:
    """Keep what the agent did and check what it left. Raises Transient or Missing for an outage, and Cancelled."""
    slot, seed, directory = opened.next.slot, opened.plan.seed, opened.proposal_dir(opened.next.slot)
    check_room(workspace.root)  # on a full disk an agent hands in what did not fit, and that is no rejection
    write_events(directory, turn.events, turn.exchanges)
    if turn.cut_short:
        raise Cancelled(f"the turn for slot {slot} was cancelled")
    if turn.outage:
        how = "once that is mended, run" if turn.lasting else "run"
        kind = Missing if turn.lasting else Transient
        raise kind(f"{turn.outage}; slot {slot} is not consumed: {how} the same command again to go on")

    def find_leaks(tree: SourceTree) -> Sequence[str]:
        return leak_problems(tree, seed, read_task_texts(tasks))

    return check_candidate(workspace.candidate, parse_tree(seed), turn.problem, gate, find_leaks)


def _verdict(turn: Turn, checked: Checked) -> TurnStatus:
    return TurnStatus(
        status="accepted" if checked.accepted else "rejected",
        summary=turn.summary,
        stop_reason=turn.stop_reason,
        reasons=checked.reasons,
        tree_hash="" if checked.tree is None else tree_hash(checked.tree),
    )


def _reason(status: TurnStatus) -> str:
    return "; ".join(status.reasons)


def _commit(opened: RecordedRun, status: TurnStatus) -> CandidateDocument | RejectionDocument:
    """Move the run on by a turn's verdict, whose evidence is on disk."""
    slot = opened.next.slot
    evidence_dir = opened.layout.evidence_dir(slot)
    if status.status == "rejected":
        return _reject(opened, _reason(status), evidence_dir)
    source = opened.proposal_dir(slot) / "source"
    with reading(f"slot {slot}", source):
        refuse_link(source)
        tree = read_tree(source, PROPOSER_BOUNDS)
    if tree_hash(tree) != status.tree_hash:
        raise BadDocument(
            f"slot {slot}: '{source}' is not what was accepted: move '{source.parent}' away to propose again"
        )
    try:
        proposal = opened.record_pending(tree, evidence_dir)
    except CandidateProposalError as error:
        return _reject(opened, error.reason, evidence_dir)
    return CandidateDocument(
        candidate_id=proposal.candidate_id,
        slot=slot,
        summary=status.summary,
        harness=to_document(tree, proposal.candidate_id),
    )


def _reject(opened: RecordedRun, reason: str, evidence_dir: str) -> RejectionDocument:
    slot = opened.next.slot
    outcome = opened.commit_invalid(reason, evidence_dir)
    return RejectionDocument(
        candidate_id=outcome.candidate_id, slot=slot, reason=outcome.reason, evidence_dir=outcome.evidence_dir
    )
