"""`wmo-score --run RUN`: what is due in a run, under the settings that the run records, and its boundary."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.run import RunSettings
from wmo_contracts.score import ScoreDocument, ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree
from wmo_kit.config import load_config
from wmo_kit.errors import BadDocument
from wmo_kit.log import Log
from wmo_population.events import note_event
from wmo_population.holdout import holdout_begun, holdout_request
from wmo_population.layout import RunLayout
from wmo_population.outcomes import CandidateProposal
from wmo_population.recorded import RecordedRun, open_run
from wmo_population.run_record import recorded_dirs, require_suite
from wmo_population.trials import check_trials
from wmo_suites.box import check_bwrap
from wmo_suites.recorded import require_recordings
from wmo_suites.task import load_suite, require_gold, select

from wmo_score.agents import harness_agent
from wmo_score.as_run import recorded_config
from wmo_score.cells import read_cells, usage_by_role
from wmo_score.judging import open_judge
from wmo_score.matrix import Conditions, Subject, changed_tasks, score_document, trials
from wmo_score.options import Options, refuse_conflicts
from wmo_score.places import open_place, tell_of_gaps
from wmo_score.scoring import Voice, default_jobs, make_subject, score
from wmo_score.trial import TrialRunner


@dataclass(frozen=True)
class Measurement:
    """What is measured: a slot's tree, on which matrix. `layout` is where the evidence goes, the run's or held_out."""

    slot: int
    tree: SourceTree
    request: ScoreRequest
    layout: RunLayout

    @property
    def label(self) -> str:
        """What people read of it."""
        name = "seed" if self.slot == 0 else f"slot {self.slot}"
        return f"{name}, held-out tasks" if self.layout == self.layout.held_out else name


def score_run(log: Log, run_dir: Path, options: Options) -> ScoreDocument:
    """Score the seed or the accepted candidate that waits, commit the boundary, give its scores.

    After the last slot, score the candidate that is due on the held-out tasks. Finished trials are kept, and so is a
    whole report that a kill left uncommitted. Raises Conflict where nothing waits (it names the next step) or an option
    contradicts the record; Usage, Missing, Locked, BadDocument, BudgetReached, Transient (75), OSError.
    """
    with open_run(run_dir) as run:
        refuse_conflicts(options, run.layout.run_dir, run.settings)
        if not options.yes:
            run.refuse_without_consent()
        if run.next.step == "score-holdout":
            return _score_held_out(log, run, options)
        slot, due = run.next.slot, run.due
        started = time.monotonic()
        with about(slot):
            report = _finished(run, due) or _score(
                log, run, Measurement(slot, due.tree, run.settings.request, run.layout), options
            )
            used = usage_by_role(run.layout.candidate_dir(slot), trials(report.request))  # before what it reads counts
        run.commit_scored(report)
        note_event(
            log,
            run_dir,
            "scored",
            slot,
            candidate_id=due.candidate_id,
            score=report.score,
            seconds=round(time.monotonic() - started, 3),
            **used,
        )
        return _document(due.candidate_id, report, run.settings)


def _score_held_out(log: Log, run: RecordedRun, options: Options) -> ScoreDocument:
    """Score a candidate on the held-out tasks. What is begun is in hand: only a new one is refused over budget."""
    slot, due, request = run.next.slot, run.held_out_due, holdout_request(run.settings)
    if request is None:
        raise AssertionError("step 'score-holdout' of a run without held-out tasks")
    if not holdout_begun(run.layout, slot):
        run.refuse_over_budget()
    started = time.monotonic()
    with about(slot):
        folder = run.start_held_out()
        report = _score(log, run, Measurement(slot, due.tree, request, run.layout.held_out), options)
        used = usage_by_role(folder, trials(report.request))
    run.commit_held_out(report)
    note_event(
        log,
        run.layout.run_dir,
        "scored-holdout",
        slot,  # and no score: a later proposer may read the timeline
        candidate_id=due.candidate_id,
        seconds=round(time.monotonic() - started, 3),
        **used,
    )
    return _document(due.candidate_id, report, run.settings)


def _document(candidate_id: str, report: ScoreReport, settings: RunSettings) -> ScoreDocument:
    return score_document(
        candidate_id,
        report,
        simulated=settings.simulated,
        environment=settings.environment,
        sandbox=settings.sandbox,
    )


@contextmanager
def about(slot: int) -> Iterator[None]:
    """Name the slot in what goes wrong with its files."""
    try:
        yield
    except BadDocument as error:
        named = str(error) if str(error).startswith("slot ") else f"slot {slot}: {error}"
        raise BadDocument(named) from error


def _finished(run: RecordedRun, due: CandidateProposal) -> ScoreReport | None:
    """Give the report that a kill left uncommitted, where it is what the trials gave. Raises BadDocument."""
    report = run.finished_report()
    if report is not None:
        check_trials(run.layout, run.next.slot, report, due.tree)
    return report


def _score(log: Log, run: RecordedRun, due: Measurement, options: Options) -> ScoreReport:
    settings = run.settings
    tasks = select(load_suite(require_suite(run.layout.run_dir, settings)), due.request.task_ids)
    recordings = require_recordings(recorded_dirs(run.layout.run_dir, settings), settings.recorded_hash)
    if due.layout == run.layout:  # a world model's examples stand in its evidence, which proposers read
        recordings = recordings.without(settings.holdout)
    conditions = Conditions(
        due.request,
        settings.reward_mode,
        settings.sandbox,
        "harness",
        settings.worker,
        settings.judge,
        settings.environment,
        settings.recorded_hash,
        settings.world,
    )
    if settings.judge is not None:
        require_gold(tasks)
    if settings.sandbox == "bwrap":
        check_bwrap()
    config = recorded_config(load_config(flags={"vendor": options.vendor}), settings)
    source = run.layout.source_dir(due.slot)
    folders = recorded_dirs(run.layout.run_dir, settings)
    tell_of_gaps(log, settings.environment, recordings, due.request.task_ids)
    with (
        open_place(
            log, config, settings.environment, mode=settings.sandbox, recordings=recordings, folders=folders
        ) as place,
        harness_agent(log, due.tree, source, config=config, conditions=conditions, work_dir=run.work_dir) as agent,
        nullcontext() if settings.judge is None else open_judge(config, log) as judge,
    ):
        subject = make_subject(due.tree, conditions, tasks)
        _warn_of_changed_tasks(log, due, subject)
        runner = TrialRunner(
            subject=subject,
            tasks={task.id: task for task in tasks},
            agent=agent,
            place=place,
            evidence=due.layout.candidate_dir(due.slot),
            work_dir=run.work_dir,
            judge=judge,
        )
        return score(runner, options.jobs or default_jobs(), Voice(log, due.label))


def _warn_of_changed_tasks(log: Log, due: Measurement, subject: Subject) -> None:
    """Say which tasks changed since the seed was scored on them: the slots' scores can then not be compared."""
    with about(0):
        seed_cells = read_cells(due.layout.candidate_dir(0), trials(due.request))
    if due.slot > 0 and (changed := changed_tasks(subject.task_hashes, seed_cells.values())):
        names = ", ".join(changed)
        log.say("warning", f"tasks changed since the seed was scored: {names}; its score and this one do not compare")
