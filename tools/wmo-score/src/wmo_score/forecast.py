"""What trials and turns may cost at most, and what they will by what earlier ones used. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from wmo_contracts.episode import COST_DIGITS, Usage
from wmo_contracts.plan import PlanDocument, RolePlan, WorstCase
from wmo_contracts.pricing import cost_of
from wmo_contracts.run import EndpointSettings


@dataclass(frozen=True)
class Job:
    """The most that one trial or turn may ask of its model; `context_window` is None where none is configured."""

    calls: int
    output_tokens: int
    context_window: int | None
    endpoints: tuple[EndpointSettings, ...]


def worst_case(job: Job, jobs: int) -> WorstCase:
    """Give the most that `jobs` such jobs use: every call with a full window, at the dearest endpoint."""
    calls = job.calls * jobs
    prompt = None if job.context_window is None else calls * job.context_window
    completion = calls * job.output_tokens
    usage = Usage(calls=calls, prompt_tokens=prompt or 0, completion_tokens=completion)
    costs = [cost_of(usage, one.price_in, one.price_out) for one in job.endpoints]
    known = [cost for cost in costs if cost is not None]
    cost = max(known) if prompt is not None and len(known) == len(costs) else None
    return WorstCase(calls=calls, prompt_tokens=prompt, completion_tokens=completion, cost=cost)


def role_plan(job: Job, jobs: int, used: Usage, counted: int) -> RolePlan:
    """Give a role's plan; `used` is what its `counted` earlier jobs took together."""
    estimate = scaled(used, jobs / counted) if counted else None
    worst = worst_case(job, jobs)
    unknown = ""
    if any(not one.priced for one in job.endpoints):
        unknown = "no price"
    elif worst.prompt_tokens is None and any(one.price_in is not None for one in job.endpoints):
        unknown = "no context window"
    return RolePlan(jobs=jobs, worst_case=worst, estimate=estimate, cost_unknown=unknown)


def in_all(plan: PlanDocument) -> WorstCase:
    """Give the worst case of all roles together; the cost is None where one's is unknown or none costs anything."""
    roles = [role for role in (plan.worker, plan.proposer, plan.world, plan.judge) if role is not None]
    prompts = [role.worst_case.prompt_tokens for role in roles]
    costs = [role.worst_case.cost for role in roles if role.worst_case.cost is not None]
    known = costs and not any(role.cost_unknown for role in roles)
    return WorstCase(
        calls=sum(role.worst_case.calls for role in roles),
        prompt_tokens=None if None in prompts else sum(prompt for prompt in prompts if prompt is not None),
        completion_tokens=sum(role.worst_case.completion_tokens for role in roles),
        cost=round(sum(costs), COST_DIGITS) if known else None,
    )


def scaled(usage: Usage, factor: float) -> Usage:
    """Give `usage` times `factor`, rounded up to whole calls and tokens."""
    return Usage(
        calls=math.ceil(usage.calls * factor),
        prompt_tokens=math.ceil(usage.prompt_tokens * factor),
        completion_tokens=math.ceil(usage.completion_tokens * factor),
        cached_tokens=math.ceil(usage.cached_tokens * factor),
        cost=None if usage.cost is None else round(usage.cost * factor, COST_DIGITS),
    )


def budget_warnings(plan: PlanDocument, due_trials: int) -> tuple[str, ...]:
    """Say where a run's budget ends before its slots do, by what earlier trials and turns used.

    `due_trials` of the worker's jobs are of the slot in hand. Without an estimate nothing can be said but that.
    """
    if plan.spent is None or (plan.max_cost is None and plan.max_tokens is None) or plan.slots == 0:
        return ()
    total, worker = plan.spent.total, plan.worker
    if worker.estimate is None:
        return ("nothing is scored yet, so it is not known how many slots the budget will do for",)
    turn = plan.proposer.estimate if plan.proposer else Usage()
    said = [] if turn is not None else ["the proposer took no turn yet, so only the trials are estimated"]
    trials = worker.estimate
    for role in (plan.world, plan.judge):
        trials = trials.plus((role and role.estimate) or Usage())
    rest = trials.plus(turn or Usage())
    in_hand = scaled(trials, due_trials / worker.jobs)
    for name, limit, used, now, ahead in (
        ("cost", plan.max_cost, total.cost or 0.0, in_hand.cost or 0.0, rest.cost or 0.0),
        ("tokens", plan.max_tokens, total.tokens, in_hand.tokens, rest.tokens),
    ):
        if limit is None or ahead <= now:
            continue
        fit = max(math.ceil((limit - used - now) / ((ahead - now) / plan.slots)), 0)
        if fit < plan.slots:
            said.append(
                f"the budget cannot finish the slots asked for: {name} {used:g} of {limit:g} are used, and about "
                f"{fit} of {plan.slots} slots fit in the rest"
            )
    return tuple(said)


def in_words(plan: PlanDocument) -> Iterable[str]:
    """Give the plan in lines for people."""
    roles = {
        "worker": ("trials", plan.worker),
        "proposer": ("proposer's turns", plan.proposer),
        "world": ("trials in the world model", plan.world),
        "judge": ("judge's verdicts", plan.judge),
    }
    unknown = []
    for name, (what, role) in roles.items():
        if role is None:
            continue
        line = f"{role.jobs} {what}: {_at_most(role.worst_case)}"
        if role.cost_unknown:
            line += f", cost unknown for {name}: {role.cost_unknown}"
            unknown.append(name)
        if role.estimate is not None:
            cost = "" if role.estimate.cost is None else f", cost {role.estimate.cost:.4f}"
            line += f"; by what earlier ones used: {role.estimate.calls:,} calls, {role.estimate.tokens:,} tokens{cost}"
        yield line
    if plan.total is not None:
        missing = f", cost unknown for {', '.join(unknown)}" if unknown else ""
        yield f"in all: {_at_most(plan.total)}{missing}"


def _at_most(worst: WorstCase) -> str:
    asked = "an unknown number of" if worst.prompt_tokens is None else f"{worst.prompt_tokens:,}"
    cost = "" if worst.cost is None else f", cost {worst.cost:.4f}"
    return f"at most {worst.calls:,} calls, {asked} tokens in, {worst.completion_tokens:,} out{cost}"
