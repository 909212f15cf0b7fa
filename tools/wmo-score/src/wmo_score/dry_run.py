"""`wmo-score --dry-run`: what is to be paid for, before it is. Reads only, without the lock; asks no model."""

import os
from pathlib import Path

from wmo_contracts.episode import CALLS_A_TURN, Limits, Usage
from wmo_contracts.plan import PlanDocument
from wmo_contracts.run import ModelSettings, RunSettings
from wmo_contracts.score import ScoreRequest
from wmo_episode.documents import KIT_MODEL_CALLS
from wmo_harness.surfaces import HarnessSpec, parse_tree
from wmo_kit.config import Config, RoleModel, load_config
from wmo_kit.errors import Usage as WrongUsage
from wmo_kit.log import Log
from wmo_population.budget import TURN_CALLS, TURN_OUTPUT_TOKENS, reached
from wmo_population.evidence import read_source
from wmo_population.holdout import holdout_begun, holdout_request, holdout_slots
from wmo_population.layout import RunLayout
from wmo_population.recorded import require_settings
from wmo_population.slots import next_step
from wmo_population.spending import counted, run_spending
from wmo_population.state import PopulationRunState
from wmo_population.trials import CELL
from wmo_suites.judge_request import MAX_TOKENS
from wmo_suites.task import require_gold
from wmo_suites.world_model import TRIES
from wmo_suites.world_prompt import OUTPUT_TOKENS

from wmo_score.adhoc import chosen_tasks, contender_of
from wmo_score.as_run import refuse_changed_tasks, terms_of
from wmo_score.forecast import Job, budget_warnings, in_all, in_words, role_plan
from wmo_score.options import Options, environment_of, refuse_conflicts


def plan_run(log: Log, run_dir: Path, options: Options) -> PlanDocument:
    """Plan what is left of a run, and say it. Raises Missing, Conflict, BadDocument, OSError."""
    settings, config = require_settings(run_dir), load_config()
    refuse_conflicts(options, run_dir, settings)
    state = PopulationRunState(run_dir)
    layout, consumed = state.layout, state.consumed
    pending = os.path.lexists(layout.pending(consumed))
    step = next_step(consumed, settings.iterations, pending=pending)
    in_hand = step.step in ("score-seed", "score")
    due = _missing_trials(layout, consumed, settings.request) if in_hand else 0
    slots = settings.iterations + 1 - consumed - in_hand
    trials = due + slots * len(settings.request.task_ids) * settings.request.attempts + _held_out(state, settings)
    spec = parse_tree(read_source(layout, consumed if in_hand else 0))
    spent = run_spending(layout, consumed)
    told = counted(layout, consumed)
    proposes = settings.proposer.kind == "pi"
    turn = _job(config.roles.proposer, settings.proposer_model, TURN_CALLS, TURN_OUTPUT_TOKENS)
    plan = PlanDocument(
        slots=slots,
        worker=role_plan(_trial(config, settings.worker, spec), trials, spent.worker, told.worker),
        proposer=role_plan(turn, slots, spent.proposer, told.proposer) if proposes else None,
        world=role_plan(_world(config, settings.world), trials, spent.world, told.world) if settings.world else None,
        judge=role_plan(_verdict(config, settings.judge), trials, spent.judge, told.judge) if settings.judge else None,
        spent=spent,
        max_cost=settings.max_cost,
        max_tokens=settings.max_tokens,
    )
    warnings = budget_warnings(plan, due)
    if slots == 0 and _held_out_ahead(state, settings) and (found := reached(settings, spent)):
        warnings += (f"the budget is reached: {found}; held-out tasks are not begun until it is raised",)
    return _said(log, plan.model_copy(update={"warnings": warnings}))


def plan_harness(log: Log, harness: str | None, options: Options) -> PlanDocument:
    """Plan the scoring of a harness outside any run, and say it. Raises as score_harness does before it scores."""
    options, config = terms_of(options)
    tasks, contender = chosen_tasks(options), contender_of(harness, options)
    if contender.tree is None:
        raise WrongUsage(f"'--agent {options.agent}' asks no model: leave out '--dry-run'")
    job = _trial(config, config.roles.worker.settings(), parse_tree(contender.tree))
    if options.as_run is not None:
        refuse_changed_tasks(options.as_run, tasks)
    trials = len(tasks) * (options.attempts or 1)
    world = judge = None
    if environment_of(options) == "world-model":
        world = role_plan(_world(config, config.roles.world.settings()), trials, Usage(), 0)
    if options.judge:
        require_gold(tasks)
        judge = role_plan(_verdict(config, config.roles.judge.settings()), trials, Usage(), 0)
    return _said(log, PlanDocument(slots=0, worker=role_plan(job, trials, Usage(), 0), world=world, judge=judge))


def _said(log: Log, plan: PlanDocument) -> PlanDocument:
    plan = plan.model_copy(update={"total": in_all(plan)})
    for line in in_words(plan):
        log.say("plan", line)
    for warning in plan.warnings:
        log.say("warning", warning)
    return plan


def _held_out(state: PopulationRunState, settings: RunSettings) -> int:
    """Count the trials at held-out tasks that are left, if a slot that is still to come turns out the best."""
    request = holdout_request(settings)
    if request is None:
        return 0
    layout, entries = state.layout, state.entries
    ahead = int(len(entries) <= settings.iterations and settings.iterations > 0)
    slots = ((0,) if ahead else holdout_slots(entries)) if entries else (0,)
    whole = ahead * len(request.task_ids) * request.attempts
    unreported = [slot for slot in slots if not os.path.lexists(layout.held_out.report(slot))]
    return whole + sum(_missing_trials(layout.held_out, slot, request) for slot in unreported)


def _held_out_ahead(state: PopulationRunState, settings: RunSettings) -> bool:
    """Say whether a candidate is still to be begun on held-out tasks: what is begun is finished over any budget."""
    if not settings.holdout:
        return False
    layout, entries = state.layout, state.entries
    if len(entries) <= settings.iterations:
        return True
    return any(
        not holdout_begun(layout, slot) and not os.path.lexists(layout.held_out.report(slot))
        for slot in holdout_slots(entries)
    )


def _missing_trials(layout: RunLayout, slot: int, request: ScoreRequest) -> int:
    return sum(
        not os.path.lexists(layout.trial_dir(slot, task_id, attempt) / CELL)
        for task_id in request.task_ids
        for attempt in range(1, request.attempts + 1)
    )


def _trial(config: Config, worker: ModelSettings, spec: HarnessSpec) -> Job:
    calls = KIT_MODEL_CALLS if spec.runtime_kind == "kit-python" else CALLS_A_TURN * spec.max_turns
    return _job(config.roles.worker, worker, calls, spec.max_output_tokens)


def _world(config: Config, world: ModelSettings) -> Job:
    """Give the most that one trial asks of a world model: every action that it may take, each asked for in vain."""
    return _job(config.roles.world, world, Limits().max_env_actions * TRIES, OUTPUT_TOKENS)


def _verdict(config: Config, judge: ModelSettings) -> Job:
    return _job(config.roles.judge, judge, 1, MAX_TOKENS)


def _job(configured: RoleModel, recorded: ModelSettings, calls: int, output_tokens: int) -> Job:
    model = configured.as_recorded(recorded)
    windows = [one.context_window for one in model.endpoints]
    known = [window for window in windows if window is not None]
    return Job(calls, output_tokens, max(known) if len(known) == len(windows) else None, recorded.endpoints)
