"""What a command line asks of a run, resolved: the seed is read, the suite's path recordable, the models configured."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from wmo_contracts.episode import EnvironmentKind, SandboxMode
from wmo_contracts.harness import HarnessDocument
from wmo_contracts.run import ProposerSettings
from wmo_contracts.score import RewardMode
from wmo_harness.documents import from_document
from wmo_harness.seeds import SEEDS, named_seed
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import read_tree
from wmo_kit.config import Config, Roles, load_config, models_source
from wmo_kit.documents import read_document
from wmo_kit.errors import Usage
from wmo_suites.allowed import record_words
from wmo_suites.recorded import read_recordings

from wmo_state.budget import Budget, read_budget

Limit = int | Literal["never"]
"""How many rejections in a row stop a run."""


@dataclass(frozen=True)
class Seed:
    """The seed as the user named it, and its tree."""

    name: str
    tree: SourceTree


@dataclass(frozen=True)
class Asked:
    """The options of `init`. None (and no `recorded`, no `judge`, no `allowed`): not said.

    A role that the user's configuration does not name has its default. `suite` is the suite's folder, `suite_name` the
    same relative to the run, as the record has it; `recorded` are the folders of recorded episodes likewise, and
    `recorded_hash` is that of what was read there. `models_source` says what to change for other models. `allowed`
    is what the proposer's box is to open, as the record has it; `yes` is the user's consent to what asks for it.
    """

    seed: Seed | None
    suite: Path | None
    suite_name: str | None
    task_ids: tuple[str, ...] | None
    holdout: tuple[str, ...] | None
    attempts: int | None
    iterations: int | None
    reward_mode: RewardMode | None
    sandbox: SandboxMode | None
    environment: EnvironmentKind | None
    recorded: tuple[str, ...]
    recorded_hash: str
    judge: bool
    proposer: ProposerSettings | None
    allowed: tuple[str, ...]
    max_rejections: Limit | None
    budget: Budget
    roles: Roles
    models_source: str
    yes: bool = False


def ask(
    run: Path,
    *,
    seed: str | None,
    suite: Path | None,
    slots: int | None,
    attempts: int | None,
    tasks: str | None,
    holdout: str | None,
    reward_mode: str | None,
    sandbox: str | None,
    env: str | None,
    recorded: tuple[Path, ...],
    judge: bool,
    proposer: str | None,
    allowed: tuple[str, ...],
    argv: tuple[str, ...],
    max_rejections: str | None,
    max_cost: str | None,
    max_tokens: str | None,
    yes: bool,
) -> Asked:
    """Resolve the options. Raises Usage, BadDocument, Missing, Negative (a vendored pi that is changed), OSError."""
    config = load_config()
    return Asked(
        seed=None if seed is None else _read_seed(seed, config),
        suite=suite,
        suite_name=None if suite is None else os.path.relpath(suite.resolve(), run.resolve()),
        task_ids=None if tasks is None else _task_ids("--tasks", tasks),
        holdout=None if holdout is None else _task_ids("--holdout", holdout),
        attempts=attempts,
        iterations=slots,
        reward_mode=cast("RewardMode | None", reward_mode),  # click has checked them against their choices
        sandbox=cast("SandboxMode | None", sandbox),
        environment=cast("EnvironmentKind | None", env),
        recorded=tuple(os.path.relpath(folder.resolve(), run.resolve()) for folder in recorded),
        recorded_hash=read_recordings(recorded).digest,
        judge=judge,
        proposer=_proposer(proposer, argv),
        allowed=record_words(allowed),
        max_rejections=None if max_rejections is None else _limit(max_rejections),
        budget=read_budget(max_cost, max_tokens),
        roles=config.roles,
        models_source=models_source(),
        yes=yes,
    )


def _read_seed(name: str, config: Config) -> Seed:
    if name in SEEDS:
        return Seed(name, named_seed(name, config.vendor))
    if Path(name).is_dir():
        return Seed(name, read_tree(Path(name)))
    if name != "-" and not Path(name).exists():
        raise Usage(f"no seed '{name}': name {' or '.join(SEEDS)}, a directory, or a wmo.harness/1 document")
    return Seed(name, from_document(read_document(name, HarnessDocument)))


def _task_ids(option: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if "" in names or len(set(names)) != len(names):
        raise Usage(f"bad {option} '{text}': give task names, each once, with commas between them")
    return names


def _limit(text: str) -> Limit:
    if text == "never":
        return "never"
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise Usage(f"bad --max-consecutive-rejections '{text}': give a number of 1 or more, or 'never'")


def _proposer(kind: str | None, argv: tuple[str, ...]) -> ProposerSettings | None:
    if kind == "command" and not argv:
        raise Usage("--proposer command needs a command: end the line with '-- COMMAND ARG...'")
    if kind != "command" and argv:
        raise Usage(f"unexpected '{argv[0]}': only --proposer command takes a command")
    if kind is None:
        return None
    return ProposerSettings(kind="command" if kind == "command" else "pi", argv=argv)
