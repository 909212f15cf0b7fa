"""`wmo-score HARNESS --suite DIR`: a harness document, or an agent that needs none, outside any run."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.harness import HarnessDocument
from wmo_contracts.score import ScoreDocument, ScoreRequest
from wmo_harness.documents import from_document
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.tree_io import write_tree
from wmo_kit.config import Config
from wmo_kit.consent import NO_SANDBOX, require_consent
from wmo_kit.documents import read_document
from wmo_kit.errors import Usage
from wmo_kit.log import Log
from wmo_population.durable import holds_tree, make_directory, remove_directory
from wmo_population.layout import RunLayout
from wmo_population.lock import RunLock
from wmo_suites.box import check_bwrap
from wmo_suites.recorded import read_recordings
from wmo_suites.task import Task, load_suite, require_gold, select

from wmo_score.agents import Agent, Nop, Oracle, harness_agent
from wmo_score.as_run import refuse_changed_tasks, terms_of
from wmo_score.judging import open_judge
from wmo_score.matrix import Conditions, score_document
from wmo_score.options import Options, environment_of
from wmo_score.places import open_place, tell_of_gaps
from wmo_score.scoring import SOURCE, Voice, default_jobs, make_subject, score
from wmo_score.trial import TrialRunner


@dataclass(frozen=True)
class Contender:
    """Who is scored: the name that becomes the candidate id, and the tree; None for an agent without a harness."""

    name: str
    tree: SourceTree | None


def score_harness(log: Log, harness: str | None, options: Options) -> ScoreDocument:
    """Score the document at `harness` (- for stdin), or the agent without a harness that the options name.

    With `keep`, source/ and trials/ go there, and finished cells that are there already are kept; else nothing stays.
    With `as_run`, tasks, attempts and models are those that run records, and its tasks must be what they were.
    Raises Usage, Negative (no consent), BadDocument, Missing, Conflict, Locked (the folder to keep is in use),
    Transient (75), OSError.
    """
    options, config = terms_of(options)
    tasks = chosen_tasks(options)
    kind, contender = environment_of(options), contender_of(harness, options)
    recordings = read_recordings(options.recorded)
    examples = recordings
    if options.leave_own_out and contender.tree is not None:
        examples = recordings.without_tree(tree_hash(contender.tree))
    worker = config.roles.worker
    conditions = Conditions(
        request=ScoreRequest(task_ids=tuple(sorted(task.id for task in tasks)), attempts=options.attempts or 1),
        reward_mode=options.reward_mode or "raw",
        sandbox=options.sandbox or "bwrap",
        agent=options.agent or "harness",
        worker=None if contender.tree is None else worker.settings(),
        judge=config.roles.judge.settings() if options.judge else None,
        environment=kind,
        recorded_hash=recordings.digest,
        world=config.roles.world.settings() if kind == "world-model" else None,
        leave_own_out=options.leave_own_out,
    )
    if conditions.trusts_models:
        require_consent(NO_SANDBOX, yes=options.yes)
    if options.judge:
        require_gold(tasks)
    if options.as_run is not None:
        refuse_changed_tasks(options.as_run, tasks)
    if conditions.sandbox == "bwrap":
        check_bwrap()
    with ExitStack() as stack:
        evidence, work_dir = stack.enter_context(_place(options.keep))
        mode = conditions.sandbox
        tell_of_gaps(log, kind, examples, conditions.request.task_ids)
        place = open_place(log, config, kind, mode=mode, recordings=examples, folders=options.recorded)
        agent = stack.enter_context(_agent(log, contender, evidence, work_dir, config=config, conditions=conditions))
        runner = TrialRunner(
            subject=make_subject(contender.tree, conditions, tasks),
            tasks={task.id: task for task in tasks},
            agent=agent,
            place=stack.enter_context(place),
            evidence=evidence,
            work_dir=work_dir,
            judge=stack.enter_context(open_judge(config, log)) if options.judge else None,
        )
        report = score(
            runner, options.jobs or default_jobs(), Voice(log, contender.name, keeps=options.keep is not None)
        )
    return score_document(contender.name, report, simulated=conditions.simulated, environment=kind, sandbox=mode)


def chosen_tasks(options: Options) -> Sequence[Task]:
    """Give the tasks that the options name. Raises Usage, BadDocument, Missing."""
    if options.suite is None:
        raise Usage("no suite: name the folder of tasks with '--suite DIR', or a run with '--run RUN' or '--as RUN'")
    suite = load_suite(options.suite)
    return select(suite, options.tasks) if options.tasks else suite


def contender_of(harness: str | None, options: Options) -> Contender:
    """Give who is to be scored. Raises Usage, BadDocument, OSError."""
    if options.agent in ("oracle", "nop"):
        if harness is not None:
            raise Usage(f"'--agent {options.agent}' needs no harness: leave out '{harness}'")
        if options.judge:
            raise Usage(f"'--agent {options.agent}' has no episode to judge: leave out '--judge'")
        return Contender(options.agent, None)
    if harness is None:
        raise Usage("no harness: name a wmo.harness/1 document, or - for standard input")
    document = read_document(harness, HarnessDocument)
    return Contender(document.name, from_document(document))


@contextmanager
def _place(keep: Path | None) -> Iterator[tuple[Path, Path]]:
    """Give the folders for evidence and for working files.

    What is kept is locked as a run is, and as in a run the working files of a killed scoring go with the next one.
    """
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="wmo-score-") as temp:
            work_dir = Path(temp, "work")
            work_dir.mkdir()
            yield Path(temp, "evidence"), work_dir
        return
    make_directory(keep)
    with RunLock(keep):
        work_dir = RunLayout(keep).work
        remove_directory(work_dir)
        work_dir.mkdir()
        try:
            yield keep, work_dir
        finally:
            shutil.rmtree(work_dir, ignore_errors=True)  # whatever stays is swept by the next scoring


@contextmanager
def _agent(
    log: Log, contender: Contender, evidence: Path, work_dir: Path, *, config: Config, conditions: Conditions
) -> Iterator[Agent]:
    if contender.tree is None:
        yield Oracle() if conditions.agent == "oracle" else Nop()
        return
    source = evidence / SOURCE
    with harness_agent(log, contender.tree, source, config=config, conditions=conditions, work_dir=work_dir) as agent:
        if not holds_tree(source, contender.tree):
            write_tree(contender.tree, source)
        yield agent
