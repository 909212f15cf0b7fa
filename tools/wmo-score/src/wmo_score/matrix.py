"""The task-by-attempt matrix, pure: which trials a request asks for, which finished cells still hold, the report."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wmo_contracts.episode import EnvironmentKind, SandboxMode, StopReason, Usage
from wmo_contracts.run import ModelSettings
from wmo_contracts.score import (
    CellDocument,
    CellTests,
    RewardMode,
    ScoreCell,
    ScoreDocument,
    ScoreReport,
    ScoreRequest,
    passes,
)
from wmo_kit.errors import BadDocument, shown

MOVE_AWAY = "move that folder away to run the trial again"


@dataclass(frozen=True, order=True)
class Trial:
    """One attempt (counted from 1) at one task."""

    task_id: str
    attempt: int

    @property
    def artifact_dir(self) -> str:
        """The trial's folder, relative to its candidate's evidence."""
        return f"trials/{self.task_id}/attempt-{self.attempt}"

    def __str__(self) -> str:
        return f"{self.task_id} #{self.attempt}"


@dataclass(frozen=True)
class Conditions:
    """What every cell of a report has in common, apart from the harness and the tasks.

    `agent` is the agent's name; `worker` the model that plays it, None where no model does. `judge` is the model that
    gives the verdicts, None where the tasks' verifiers do. `environment` is what the trials act in, `recorded_hash`
    that of the recorded episodes it uses, `world` the model that plays it, None where none does. `leave_own_out`: of
    those episodes, the harness's own are no examples.
    """

    request: ScoreRequest
    reward_mode: RewardMode
    sandbox: SandboxMode
    agent: str
    worker: ModelSettings | None
    judge: ModelSettings | None = None
    environment: EnvironmentKind = "sandbox"
    recorded_hash: str = ""
    world: ModelSettings | None = None
    leave_own_out: bool = False

    @property
    def simulated(self) -> bool:
        """True where the offline model plays a part in the scores."""
        return any(model.simulated for model in (self.worker, self.judge, self.world) if model is not None)

    @property
    def trusts_models(self) -> bool:
        """True where what a real model writes is run on this machine with nothing around it."""
        return self.sandbox == "none" and self.worker is not None and not self.worker.simulated

    @property
    def request_hash(self) -> str:
        """BLAKE2b-16 hex of these conditions. The name of the key's variable is not in it: it changes no score."""
        endpoints = () if self.worker is None else self.worker.endpoints
        facts: dict[str, Any] = {
            "agent": self.agent,
            "model": [text for one in endpoints for text in (one.base_url, one.model)] or None,
            "request": self.request.model_dump(mode="json"),
            "reward_mode": self.reward_mode,
            "sandbox": self.sandbox,
        }
        if self.judge is not None:  # only then: a cell that a verifier decided keeps the hash that it has
            facts["judge"] = [self.judge.base_url, self.judge.model]
        if self.environment != "sandbox":  # likewise
            world = () if self.world is None else self.world.endpoints
            facts["environment"] = self.environment
            facts["recorded"] = self.recorded_hash
            if self.leave_own_out:
                facts["leave_own_out"] = True
            facts["world"] = [text for one in world for text in (one.base_url, one.model)] or None
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Subject:
    """What is measured: the harness's hashes ("" for an agent without one), the conditions, each task's digest."""

    tree_hash: str
    doc_hash: str
    conditions: Conditions
    task_hashes: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """What a report still needs: cells to keep, trials to run (sorted), and why a cell that was found is not kept."""

    kept: Mapping[Trial, CellDocument]
    due: tuple[Trial, ...]
    outdated: Mapping[Trial, str]


def trials(request: ScoreRequest) -> tuple[Trial, ...]:
    """Give the request's cross product, sorted as the report's cells are: by task, then attempt."""
    return tuple(
        sorted(Trial(task, attempt) for task in request.task_ids for attempt in range(1, request.attempts + 1))
    )


def make_plan(subject: Subject, found: Mapping[Trial, CellDocument]) -> Plan:
    """Decide which of the `found` cells may stand for their trials, and which trials must run.

    Raises BadDocument for a cell that cannot have been written where it was found.
    """
    wanted = trials(subject.conditions.request)
    outdated = {
        trial: reason for trial in wanted if trial in found and (reason := _changed(subject, trial, found[trial]))
    }
    kept = {trial: found[trial] for trial in wanted if trial in found and trial not in outdated}
    return Plan(kept, tuple(trial for trial in wanted if trial not in kept), outdated)


def _changed(subject: Subject, trial: Trial, found: CellDocument) -> str:
    """Say what a found cell was measured on that is different now; "" where nothing is."""
    cell = found.cell
    if (cell.task_id, cell.attempt, cell.artifact_dir) != (trial.task_id, trial.attempt, trial.artifact_dir):
        raise BadDocument(f"bad cell.json in '{trial.artifact_dir}': it is of another trial, "
                          f"{shown(cell.task_id)} #{cell.attempt}: {MOVE_AWAY}")  # fmt: skip
    if found.task_hash != subject.task_hashes[trial.task_id]:
        return "the task changed"
    if (found.tree_hash, found.doc_hash) != (subject.tree_hash, subject.doc_hash):
        return "the harness changed"
    if found.request_hash != subject.conditions.request_hash:
        return "the request changed"
    if cell.passed != passes(cell.reward, subject.conditions.reward_mode):
        raise BadDocument(f"bad cell.json in '{trial.artifact_dir}': passed is {cell.passed}, but its reward is "
                          f"{cell.reward}: {MOVE_AWAY}")  # fmt: skip
    if cell.infra_failed:
        return "the cell is no verifier's verdict"
    return ""


def changed_tasks(now: Mapping[str, str], measured: Iterable[CellDocument]) -> tuple[str, ...]:
    """Name the tasks, sorted, that are not what they were when the `measured` cells were made.

    `now` gives the digest of each task that there is.
    """
    return tuple(sorted({c.cell.task_id for c in measured if now.get(c.cell.task_id, c.task_hash) != c.task_hash}))


def make_cell(
    subject: Subject,
    trial: Trial,
    *,
    reward: float,
    note: str,
    tests: CellTests | None,
    stop_reason: StopReason | None,
    usage: Usage | None = None,
    world_usage: Usage | None = None,
    judge_usage: Usage | None = None,
    timings: Mapping[str, float],
) -> CellDocument:
    """Give the document of a finished trial. `reward` is 0 to 1, `timings` wall seconds by phase.

    `usage` is None where no model worked, `world_usage` where none played the world, `judge_usage` where none judged.
    """
    cell = ScoreCell(
        task_id=trial.task_id,
        attempt=trial.attempt,
        reward=reward,
        passed=passes(reward, subject.conditions.reward_mode),
        artifact_dir=trial.artifact_dir,
        note=note,
        tests=tests,
    )
    return CellDocument(
        cell=cell,
        tree_hash=subject.tree_hash,
        doc_hash=subject.doc_hash,
        task_hash=subject.task_hashes[trial.task_id],
        request_hash=subject.conditions.request_hash,
        stop_reason=stop_reason,
        usage=usage,
        world_usage=world_usage,
        judge_usage=judge_usage,
        timings=dict(timings),
    )


def make_report(subject: Subject, cells: Mapping[Trial, CellDocument]) -> ScoreReport:
    """Assemble the report from one cell a trial. Raises pydantic's ValidationError where one is missing or too many."""
    return ScoreReport(
        doc_hash=subject.doc_hash,
        request=subject.conditions.request,
        reward_mode=subject.conditions.reward_mode,
        cells=tuple(cells[trial].cell for trial in sorted(cells)),
    )


def score_document(
    candidate_id: str,
    report: ScoreReport,
    *,
    simulated: bool,
    environment: EnvironmentKind = "sandbox",
    sandbox: SandboxMode = "bwrap",
) -> ScoreDocument:
    """Wrap a report for stdout. `simulated`, `environment` and `sandbox` as in the document."""
    return ScoreDocument(
        candidate_id=candidate_id,
        score=report.score,
        pass_rate=report.pass_rate,
        simulated=simulated,
        environment=environment,
        sandbox=sandbox,
        report=report,
    )
