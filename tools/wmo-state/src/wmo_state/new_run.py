"""What a new run will need: looked for before it is made, so that nothing is paid for in vain."""

import os
import shutil
from pathlib import Path

from wmo_contracts.run import ModelSettings, RunSettings
from wmo_harness.tree_io import check_names
from wmo_kit.config import Endpoint, Role, api_key
from wmo_kit.errors import Missing
from wmo_kit.log import Log
from wmo_population.run_record import hidden_paths
from wmo_suites.allowed import find_program, is_shown, read_words
from wmo_suites.box import FIXED_ENV
from wmo_suites.host import survey

from wmo_state.asked import Asked


def check_new(run: Path, settings: RunSettings, asked: Asked, log: Log) -> None:
    """Refuse a run that could not work on this machine; warn of keys, which its later commands may have, and of leaks.

    Raises BadTree for a seed that cannot be written, Missing for a proposer command that is not there or not to be seen
    in its box, Usage for what its box must not open, Conflict for a base URL that is none.
    """
    if asked.seed is not None:
        check_names(asked.seed.tree)
    if settings.proposer.kind == "command":
        _check_command(run, settings, log)
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


def _check_command(run: Path, settings: RunSettings, log: Log) -> None:
    argv = settings.proposer.argv
    if settings.sandbox == "none":
        if shutil.which(argv[0]) is None:
            raise Missing(f"no proposer command '{argv[0]}': install it, or name its path")
        return
    allowed, host = read_words(settings.proposer.allow, hidden_paths(run, settings)), survey()
    search = os.environ.get("PATH", "") if "PATH" in allowed.variables else FIXED_ENV["PATH"]
    find_program(argv[0], search, allowed, host)
    for name in allowed.variables:
        if name not in os.environ:
            log.say("warning", f"no variable '{name}' here ('--allow env:{name}'); the proposer will need it")
    for word in argv[1:]:
        if Path(word).is_absolute() and Path(word).exists() and not is_shown(Path(word), allowed, host):
            log.say("warning", f"the proposer's box does not show '{word}': it needs '--allow read:{word}'")


def _missing_keys(role: Role, model: ModelSettings) -> list[str]:
    problems = []
    for recorded in model.endpoints:
        endpoint = Endpoint(base_url=recorded.base_url, model=recorded.model, api_key_env=recorded.api_key_env)
        try:
            api_key(endpoint, role)
        except Missing as error:
            problems.append(str(error))
    return problems
