"""Scores: the task-by-attempt report of design 4, the document around it, and the per-trial cell."""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from wmo_contracts.base import Document, Part
from wmo_contracts.episode import EnvironmentKind, SandboxMode, Usage

RewardMode = Literal["raw", "positive-binary"]
ROUNDING = 1e-4
"""How far a document's score may be from its report's: rounded for people it is still the same."""
NOTE_LIMIT = 2000
"""The most characters a cell's note may have (design 4)."""


class ScoreRequest(Part):
    """Which cells a report must have: the cross product of `task_ids` and attempts 1..`attempts`."""

    task_ids: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    attempts: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _unique_tasks(self) -> Self:
        if len(set(self.task_ids)) != len(self.task_ids):
            raise ValueError("task_ids must be unique")
        return self


class CellTests(Part):
    """The verifier's own test counts. `resolved` counts the tests that gave a verdict, passed or not."""

    passed: Annotated[int, Field(ge=0)]
    resolved: Annotated[int, Field(ge=1)]
    unresolved: Annotated[int, Field(ge=0)]


class ScoreCell(Part):
    """The outcome of one attempt at one task. `tests` None means that the verifier counted none; that is not zero."""

    task_id: Annotated[str, Field(min_length=1)]
    attempt: Annotated[int, Field(ge=1)]
    reward: Annotated[float, Field(ge=0, le=1)]
    passed: bool
    artifact_dir: str
    note: Annotated[str, Field(max_length=NOTE_LIMIT)] = ""
    infra_failed: bool = False
    tests: CellTests | None = None


def passes(reward: float, mode: RewardMode) -> bool:
    """Say whether `reward` (0 to 1) is a pass: exactly 1.0 in mode "raw", anything above 0 in "positive-binary"."""
    return reward == 1.0 if mode == "raw" else reward > 0


class ScoreReport(Part):
    """All cells of one harness under one request: exactly the cross product, sorted by (task_id, attempt)."""

    doc_hash: str
    request: ScoreRequest
    reward_mode: RewardMode = "raw"
    cells: tuple[ScoreCell, ...]

    @model_validator(mode="after")
    def _complete_and_honest(self) -> Self:
        found = [(cell.task_id, cell.attempt) for cell in self.cells]
        tasks, attempts = self.request.task_ids, self.request.attempts
        if len(found) != len(tasks) * attempts or found != sorted(
            (task, attempt)
            for task in tasks
            for attempt in range(1, attempts + 1)  # counted first: it may be 10^12
        ):
            raise ValueError("cells must be exactly the request's tasks x attempts, one each, sorted")
        for cell in self.cells:
            if cell.passed != passes(cell.reward, self.reward_mode):
                raise ValueError(
                    f"cell ('{cell.task_id}', {cell.attempt}): passed is {cell.passed}, "
                    f"but reward {cell.reward} in mode '{self.reward_mode}' says otherwise"
                )
        return self

    @property
    def score(self) -> float:
        """Mean over tasks of the task's pass rate, 0 to 1."""
        passed: dict[str, int] = defaultdict(int)
        for cell in self.cells:
            passed[cell.task_id] += cell.passed
        rates = [passed[task] / self.request.attempts for task in sorted(self.request.task_ids)]
        return math.fsum(rates) / len(rates)  # fsum: the order of tasks must not decide a tie

    @property
    def pass_rate(self) -> float:
        """Fraction of all cells that passed, 0 to 1."""
        return sum(cell.passed for cell in self.cells) / len(self.cells)


class ScoreDocument(Document):
    """`wmo.score/1`: what wmo-score prints. `simulated` is true where the offline model played any part in it.

    `environment` is what the trials acted in: the scores are predictions where it is not a sandbox. `sandbox` is "none"
    where agents and tools ran with nothing around them. `score` and `pass_rate` are the report's own.
    """

    SCHEMA: ClassVar[str] = "wmo.score/1"

    candidate_id: str
    score: float
    pass_rate: float
    simulated: bool
    environment: EnvironmentKind = "sandbox"
    sandbox: SandboxMode = "bwrap"
    report: ScoreReport

    @model_validator(mode="after")
    def _of_its_report(self) -> Self:
        for name, said, found in (
            ("score", self.score, self.report.score),
            ("pass_rate", self.pass_rate, self.report.pass_rate),
        ):
            if not math.isclose(said, found, rel_tol=0, abs_tol=ROUNDING):
                raise ValueError(f"{name} is {said}, but the report's cells give {found}")
        return self


class CellDocument(Document):
    """`wmo.cell/1`: cell.json, written last in a trial's folder. The hashes say what the cell was measured on.

    `usage` is the agent's own; `world_usage` and `judge_usage` what a world model and a judge took, None where there
    was none. `cell_hash` is that of the rest (see the function), checked where present.
    """

    SCHEMA: ClassVar[str] = "wmo.cell/1"

    cell: ScoreCell
    tree_hash: str
    doc_hash: str
    task_hash: str
    request_hash: str
    stop_reason: str | None = None
    usage: Usage | None = None
    world_usage: Usage | None = None
    judge_usage: Usage | None = None
    timings: dict[str, float] = Field(default_factory=dict)
    cell_hash: str | None = None

    def sealed(self) -> Self:
        """Give the document with its hash, as it is written."""
        return self.model_copy(update={"cell_hash": cell_hash(self.to_json())})


def cell_hash(document: Mapping[str, Any]) -> str:
    """Give the BLAKE2b-16 hex of a cell's document as it is written, its wall times and the hash itself left out."""
    facts = {key: value for key, value in document.items() if key not in {"cell_hash", "timings"}}
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()
