"""The frozen settings of a run: made of what is asked, held against what is asked later. Pure."""

from collections.abc import Iterator
from typing import Any

from wmo_contracts.episode import SandboxMode
from wmo_contracts.run import ModelSettings, ProposerSettings, RunSettings
from wmo_contracts.score import RewardMode, ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_kit.config import Roles
from wmo_kit.errors import Conflict, Usage
from wmo_suites.choice import check_choice

from wmo_state.asked import Asked, Limit, Seed
from wmo_state.budget import check_prices_known, with_new_prices, without_prices

DEFAULT_ATTEMPTS = 1
REMEDY = "leave the option out, or use a new run directory"


def fresh_settings(asked: Asked, task_ids: tuple[str, ...]) -> RunSettings:
    """Give the settings of a new run over the chosen tasks. Raises Usage for missing or odd options, BadHarness."""
    if asked.seed is None:
        raise Usage("a new run needs --seed, --suite and --slots")
    request = ScoreRequest(task_ids=task_ids, attempts=asked.attempts or DEFAULT_ATTEMPTS)
    return _settings(asked, asked.seed, request, asked.reward_mode or "raw")


def adopted_settings(asked: Asked, seed: SourceTree, report: ScoreReport) -> RunSettings:
    """Give the settings of a run that has none, one of the reference: request and mode are what its seed was scored by.

    `seed` and `report` are slot 0's. Raises Usage for a missing option, Conflict for one that the run contradicts.
    """
    _check_adopted(asked)
    name = "candidate-0000/source" if asked.seed is None else asked.seed.name
    settings = _settings(asked, Seed(name, seed), report.request, report.reward_mode)
    return reconcile(settings, asked)


def _check_adopted(asked: Asked) -> None:
    """Refuse for an adopted run what would give its later slots scores of another kind than it has. Raises Conflict."""
    for option, said in (
        ("--judge", asked.judge),
        (f"--env {asked.environment}", asked.environment not in {None, "sandbox"}),
    ):
        if said:
            raise Conflict(f"{option}: the run's scores were given by verifiers in real sandboxes: {REMEDY}")


def reconcile(recorded: RunSettings, asked: Asked) -> RunSettings:
    """Give the settings to go on with: the recorded ones, with what may change where it is asked.

    That is more iterations, other limits, new prices, and what the proposer's box opens: paths are of one machine.

    Raises Conflict that names both values where something else differs.
    """
    for option, was, wanted in _differences(recorded, asked):
        raise Conflict(f"{option}: the run has '{was}', asked is '{wanted}': {REMEDY}")
    for role, was, wanted in _model_differences(recorded, asked):
        remedy = f"{asked.models_source}, or use a new run directory"
        raise Conflict(f"model of the {role}: the run has '{was}', configured is '{wanted}': {remedy}")
    grown: dict[str, Any] = asked.budget.over(recorded.model_dump())
    grown["worker"] = with_new_prices(recorded.worker, asked.roles.worker.settings())
    grown["proposer_model"] = with_new_prices(recorded.proposer_model, asked.roles.proposer.settings())
    if recorded.world is not None:
        grown["world"] = with_new_prices(recorded.world, asked.roles.world.settings())
    if recorded.judge is not None:
        grown["judge"] = with_new_prices(recorded.judge, asked.roles.judge.settings())
    grown["proposer"] = _opened(recorded.proposer, asked.allowed, recorded.sandbox)
    if asked.iterations is not None:
        if asked.iterations < recorded.iterations:
            raise _shrunk("--slots", str(recorded.iterations), str(asked.iterations), "a run only grows")
        grown["iterations"] = asked.iterations
    if asked.max_rejections is not None:
        limit, higher = recorded.max_consecutive_rejections, _recorded_limit(asked.max_rejections)
        if limit != higher and (limit is None or (higher is not None and higher < limit)):
            option = "--max-consecutive-rejections"
            raise _shrunk(option, str(limit or "never"), str(asked.max_rejections), "a limit is only raised")
        grown["max_consecutive_rejections"] = higher
    settings = recorded.model_copy(update=grown)
    if settings != recorded:
        check_prices_known(settings)
    return settings


def _opened(proposer: ProposerSettings, allowed: tuple[str, ...], sandbox: SandboxMode) -> ProposerSettings:
    """Give the proposer with what its box is to open, where that is said. Raises Usage where there is no such box."""
    if not allowed:
        return proposer
    if proposer.kind != "command":
        raise Usage(f"--allow {allowed[0]}: only the box of '--proposer command' can be opened")
    if sandbox == "none":
        raise Usage(f"--allow {allowed[0]}: with '--sandbox none' there is no box to open: leave one of them out")
    return proposer.model_copy(update={"allow": allowed})


def _shrunk(option: str, was: str, wanted: str, rule: str) -> Conflict:
    return Conflict(f"{option}: the run has '{was}', asked is '{wanted}': {rule}; {REMEDY}")


def _recorded_limit(limit: Limit | None) -> int | None:
    """Give the limit as a record has it: None is never."""
    return None if limit == "never" else limit


def _differences(recorded: RunSettings, asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Give (option, recorded value, asked value) for whatever is asked and differs."""
    if asked.seed is not None and tree_hash(asked.seed.tree) != recorded.seed_tree_hash:
        yield (
            "--seed",
            f"{recorded.seed}, tree {recorded.seed_tree_hash}",
            f"{asked.seed.name}, tree {tree_hash(asked.seed.tree)}",
        )
    if asked.suite_name is not None and asked.suite_name != recorded.suite:
        yield "--suite", recorded.suite, asked.suite_name
    if asked.task_ids is not None and set(asked.task_ids) != set(recorded.request.task_ids):
        yield "--tasks", ",".join(recorded.request.task_ids), ",".join(asked.task_ids)
    if asked.holdout is not None and set(asked.holdout) != set(recorded.holdout):
        yield "--holdout", ",".join(recorded.holdout), ",".join(asked.holdout)
    if asked.attempts is not None and asked.attempts != recorded.request.attempts:
        yield "--attempts", str(recorded.request.attempts), str(asked.attempts)
    if asked.reward_mode is not None and asked.reward_mode != recorded.reward_mode:
        yield "--reward-mode", recorded.reward_mode, asked.reward_mode
    if asked.sandbox is not None and asked.sandbox != recorded.sandbox:
        yield "--sandbox", recorded.sandbox, asked.sandbox
    if asked.environment is not None and asked.environment != recorded.environment:
        yield "--env", recorded.environment, asked.environment
    if asked.recorded and (asked.recorded, asked.recorded_hash) != (recorded.recorded, recorded.recorded_hash):
        yield "--recorded", _show_recorded(recorded), _show_recorded(asked)
    if asked.judge and recorded.judge is None:
        yield "--judge", "the tasks' verifiers", "a judge"
    if asked.proposer is not None and _show(asked.proposer) != _show(recorded.proposer):
        yield "--proposer", _show(recorded.proposer), _show(asked.proposer)


def _model_differences(recorded: RunSettings, asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Give (role, recorded model, configured model) for each that the user configures and that differs."""
    unsaid = Roles()
    models = [
        ("worker", recorded.worker, asked.roles.worker.settings(), unsaid.worker.settings()),
        ("proposer", recorded.proposer_model, asked.roles.proposer.settings(), unsaid.proposer.settings()),
    ]
    if recorded.world is not None:
        models.append(("world", recorded.world, asked.roles.world.settings(), unsaid.world.settings()))
    if recorded.judge is not None:
        models.append(("judge", recorded.judge, asked.roles.judge.settings(), unsaid.judge.settings()))
    for role, was, wanted, default in models:
        if wanted != default and without_prices(wanted) != without_prices(was):
            yield role, _show_model(was), _show_model(wanted)


def _show(proposer: ProposerSettings) -> str:
    return " ".join([proposer.kind, *proposer.argv])


def _show_recorded(one: RunSettings | Asked) -> str:
    return f"{', '.join(one.recorded) or 'nothing'}, episodes {one.recorded_hash or 'none'}"


def _show_model(model: ModelSettings) -> str:
    return "; then ".join(f"{one.model} at {one.base_url}, key in {one.api_key_env}" for one in model.endpoints)


def _settings(asked: Asked, seed: Seed, request: ScoreRequest, reward_mode: RewardMode) -> RunSettings:
    if asked.suite_name is None or asked.iterations is None:
        raise Usage("a run without a record needs --suite and --slots")
    environment, sandbox = asked.environment or "sandbox", asked.sandbox or "bwrap"
    check_choice(environment, recorded=bool(asked.recorded), judged=asked.judge)
    settings = RunSettings(
        seed=seed.name,
        seed_tree_hash=tree_hash(seed.tree),
        seed_doc_hash=doc_hash(parse_tree(seed.tree)),
        suite=asked.suite_name,
        request=request,
        iterations=asked.iterations,
        reward_mode=reward_mode,
        holdout=() if asked.holdout is None else tuple(sorted(asked.holdout)),
        sandbox=sandbox,
        proposer=_opened(asked.proposer or ProposerSettings(), asked.allowed, sandbox),
        worker=asked.roles.worker.settings(),
        proposer_model=asked.roles.proposer.settings(),
        environment=environment,
        recorded=asked.recorded,
        recorded_hash=asked.recorded_hash,
        world=asked.roles.world.settings() if environment == "world-model" else None,
        judge=asked.roles.judge.settings() if asked.judge else None,
        max_consecutive_rejections=_recorded_limit(asked.max_rejections),
        **asked.budget.over({}),
    )
    check_prices_known(settings)
    return settings
