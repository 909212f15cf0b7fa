"""The check of a finished turn: a candidate's tree, or every reason why it is none. Candidate code is never run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_harness.source_tree import BadTree, SourceTree
from wmo_harness.surfaces import BadHarness, HarnessSpec, doc_hash, parse_tree

from wmo_propose.python_check import python_problems
from wmo_propose.snapshot import take_snapshot

SourceCheck = Callable[[SourceTree, bool], Sequence[str]]
"""Checks a tree's TypeScript and JavaScript; the flag asks for the entry's imports too. Gives the problems."""

LeakCheck = Callable[[SourceTree], Sequence[str]]
"""Gives the problems of a tree that knows the tasks it is scored on."""

ENTRY_PATH = "src/index.ts"
"""The file of a pi-node harness that the runner's entry imports."""


@dataclass(frozen=True)
class Checked:
    """What the gate found. `tree` is what could be read as one; it is a valid candidate where `reasons` is empty."""

    tree: SourceTree | None
    doc_hash: str
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """True where nothing speaks against the candidate."""
        return not self.reasons


def check_candidate(
    directory: Path, seed: HarnessSpec, turn_problem: str, check_sources: SourceCheck, find_leaks: LeakCheck
) -> Checked:
    """Snapshot `directory` once and check what was snapshot.

    `turn_problem` is why the turn is no submission, "" where it is one; it does not spare the other checks, so that
    the evidence names everything at once. Raises OSError and what `check_sources` and `find_leaks` raise.
    """
    snapshot = take_snapshot(directory)
    reasons = [turn_problem] if turn_problem else []
    reasons += snapshot.reasons
    try:
        tree = snapshot.tree()
    except BadTree as error:
        return Checked(None, "", (*reasons, str(error)))
    if not snapshot.complete:
        return Checked(tree, "", tuple(reasons))
    spec, problem = _parse(tree)
    if spec is None:
        reasons.append(problem)
    elif doc_hash(spec) == doc_hash(seed):
        reasons.append("no change against the seed")
    elif spec.runtime_kind != seed.runtime_kind:
        reasons.append(
            f"config.toml: runtime_kind is '{spec.runtime_kind}', the seed's is '{seed.runtime_kind}': keep it"
        )
    has_entry = spec.runtime_kind == "pi-node" if spec else ENTRY_PATH in snapshot.files
    reasons += check_sources(tree, has_entry)
    if seed.runtime_kind == "kit-python":
        reasons += python_problems(tree)
    reasons += find_leaks(tree)
    return Checked(tree, doc_hash(spec) if spec else "", tuple(reasons))


def _parse(tree: SourceTree) -> tuple[HarnessSpec | None, str]:
    try:
        return parse_tree(tree), ""
    except BadHarness as error:
        return None, str(error)
