"""What a new run will need: looked for before it is made, so that nothing is paid for in vain."""

import shutil

from wmo_contracts.run import ModelSettings, RunSettings
from wmo_harness.tree_io import check_names
from wmo_kit.config import Endpoint, Role, api_key
from wmo_kit.errors import Missing
from wmo_kit.log import Log

from wmo_state.asked import Asked


def check_new(settings: RunSettings, asked: Asked, log: Log) -> None:
    """Refuse a run that could not work on this machine; warn of keys, which its later commands may have, and of leaks.

    Raises BadTree for a seed that cannot be written, Missing for a proposer command that is not there, Conflict for a
    base URL that is none.
    """
    if asked.seed is not None:
        check_names(asked.seed.tree)
    if settings.proposer.kind == "command" and shutil.which(settings.proposer.argv[0]) is None:
        raise Missing(f"no proposer command '{settings.proposer.argv[0]}': install it, or name its path")
    if settings.holdout and settings.sandbox == "none":
        log.say("warning", "with --sandbox none nothing keeps a proposer from reading the held-out tasks")
    needed: list[tuple[Role, ModelSettings]] = [("worker", settings.worker)]
    if settings.iterations > 0 and settings.proposer.kind == "pi":
        needed.append(("proposer", settings.proposer_model))
    if settings.world is not None:
        needed.append(("world", settings.world))
    if settings.judge is not None:
        needed.append(("judge", settings.judge))
    for problem in [problem for role, model in needed for problem in _missing_keys(role, model)]:
        log.say("warning", f"{problem}; the run will need it")


def _missing_keys(role: Role, model: ModelSettings) -> list[str]:
    problems = []
    for recorded in model.endpoints:
        endpoint = Endpoint(base_url=recorded.base_url, model=recorded.model, api_key_env=recorded.api_key_env)
        try:
            api_key(endpoint, role)
        except Missing as error:
            problems.append(str(error))
    return problems
