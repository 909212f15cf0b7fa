"""A whole report: keep the finished cells that still hold, run the missing trials, assemble."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.score import CellDocument, ScoreReport
from wmo_contracts.verdict import VerdictDocument
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_kit.documents import read_json_part
from wmo_kit.errors import Transient
from wmo_kit.log import Log
from wmo_kit.progress import WorkProgress
from wmo_kit.stopping import deferred_signals
from wmo_population.trials import JUDGE, VERDICT
from wmo_suites.judge_verdict import REFUSED
from wmo_suites.task import Task, task_digest

from wmo_score.cells import read_cells, total_usage
from wmo_score.matrix import Conditions, Plan, Subject, Trial, make_plan, make_report, trials
from wmo_score.notes import outcome_words
from wmo_score.pool import run_trials
from wmo_score.trial import TrialRunner

MAX_JOBS = 8
SOURCE = "source"
"""The folder of a candidate's tree, beside its trials."""


def default_jobs() -> int:
    """Give twice the processors that we may use, at most 8: an episode waits for its model most of the time."""
    return min(2 * len(os.sched_getaffinity(0)), MAX_JOBS)


@dataclass(frozen=True)
class Voice:
    """How a scoring speaks of itself: where, and under which label ("seed", "slot 2").

    `keeps` says whether what is finished stays, for the same command to go on with.
    """

    log: Log
    label: str
    keeps: bool = True


def make_subject(tree: SourceTree | None, conditions: Conditions, tasks: Iterable[Task]) -> Subject:
    """Hash what is measured. `tree` None is an agent without a harness. Raises BadHarness, OSError."""
    return Subject(
        tree_hash="" if tree is None else tree_hash(tree),
        doc_hash="" if tree is None else doc_hash(parse_tree(tree)),
        conditions=conditions,
        task_hashes={task.id: task_digest(task, judged=conditions.judge is not None) for task in tasks},
    )


def score(runner: TrialRunner, jobs: int, voice: Voice) -> ScoreReport:
    """Score the runner's subject, `jobs` trials at a time; gives the complete report. Main thread only.

    Raises Transient (75), once the running trials have ended, that names every trial without a verdict;
    KeyboardInterrupt and Terminated; whatever else a trial raises. Finished cells stay on disk in every case.
    """
    subject = runner.subject
    plan = make_plan(subject, read_cells(runner.evidence, trials(subject.conditions.request)))
    _tell(plan, voice)
    with (
        deferred_signals() as stop,
        WorkProgress(voice.log, voice.label, len(plan.due), os.environ) as progress,
    ):
        finished = run_trials(
            plan.due,
            lambda trial: runner.run(trial, stop),
            jobs=jobs,
            stop=stop.event,
            on_cell=lambda cell: progress.advance(_outcome(cell, runner.evidence)),
        )
    if finished.failures:
        raise Transient(_without_verdict(finished.failures, keeps=voice.keeps))
    report = make_report(subject, {**plan.kept, **finished.cells})
    _warn_of_silence(runner, report, [*plan.kept.values(), *finished.cells.values()], voice)
    _warn_of_refusals(report, voice)
    return report


def _warn_of_silence(runner: TrialRunner, report: ScoreReport, cells: Iterable[CellDocument], voice: Voice) -> None:
    """Say so loudly where no agent came as far as its model: more likely than a bad harness is a bad installation."""
    if any(cell.stop_reason != "error" for cell in cells):
        return
    if total_usage(runner.evidence, trials(report.request)).calls == 0:
        first = report.cells[0]
        voice.log.say(
            "warning",
            f"{voice.label}: every trial ended in an error before the model was asked once, so this score says nothing "
            f"of the model; '{Trial(first.task_id, first.attempt)}': {first.note}",
        )


def _warn_of_refusals(report: ScoreReport, voice: Voice) -> None:
    """Say so loudly where the judge refused every transcript: its endpoint fails at that rather than a harness."""
    if all(REFUSED in cell.note for cell in report.cells):
        voice.log.say(
            "warning",
            f"{voice.label}: the judge refused every transcript, so this score says nothing of the harness: have a "
            "model with a larger context, or one that takes them, play the role 'judge', in a new run",
        )


def _tell(plan: Plan, voice: Voice) -> None:
    for trial, reason in plan.outdated.items():
        voice.log.say("rerun", f"{voice.label}: {trial} runs again: {reason}", trial=str(trial), reason=reason)
    if plan.kept:
        total = len(plan.kept) + len(plan.due)
        voice.log.say("kept", f"{voice.label}: {len(plan.kept)} of {total} trials are kept", kept=len(plan.kept))


def _outcome(cell: CellDocument, evidence: Path) -> str:
    trial = Trial(cell.cell.task_id, cell.cell.attempt)
    path = evidence / trial.artifact_dir / JUDGE / VERDICT
    verdict = read_json_part(path, VerdictDocument) if path.is_file() else None
    return f"{trial} {outcome_words(cell, verdict)}"


def _without_verdict(failures: Mapping[Trial, str], *, keeps: bool) -> str:
    lines = "; ".join(f"'{trial}': {failures[trial]}" for trial in sorted(failures))
    then = (
        "the finished ones are kept; run it again" if keeps else "and nothing is kept; '--keep DIR' would keep the rest"
    )
    return f"no verdict for {len(failures)} of the trials, {then}. {lines}"
