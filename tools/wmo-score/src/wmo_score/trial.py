"""One trial: a fresh workspace, the agent's work, the verifier's verdict, and the evidence of all three."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from wmo_contracts.episode import EpisodeResult, SandboxMode, Usage
from wmo_contracts.score import CellDocument, passes
from wmo_kit.errors import Cancelled, Missing, Transient
from wmo_kit.stopping import Stop
from wmo_suites.disk import check_room
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task
from wmo_suites.verifier import OUTPUT_NAME, Verdict, shared_binds, verify
from wmo_suites.workspace import copy_workspace, remove_workspace

from wmo_score.agents import Agent, Desk
from wmo_score.cells import set_aside, start_folder, write_cell
from wmo_score.judging import Judge
from wmo_score.matrix import Subject, Trial, make_cell
from wmo_score.notes import cell_note


@dataclass(frozen=True)
class Played:
    """What a trial gave: the episode (None without one), the verdict, the judge's usage, seconds by phase.

    `judge_usage` is None where the task's verifier gave the verdict.
    """

    result: EpisodeResult | None
    verdict: Verdict
    judge_usage: Usage | None
    timings: Mapping[str, float]


@dataclass(frozen=True)
class TrialRunner:
    """Runs single trials of one subject. `evidence` is the candidate's folder, `work_dir` one for working files.

    `judge` gives the verdicts in the place of the tasks' verifiers, which are not run then; None: they do.
    `spoiled` is set once a disk failed: it is all trials' disk, so those that still run get no verdict either.
    """

    subject: Subject
    tasks: Mapping[str, Task]
    agent: Agent
    evidence: Path
    work_dir: Path
    judge: Judge | None = None
    spoiled: Event = field(default_factory=Event)

    def run(self, trial: Trial, stop: Stop) -> CellDocument:
        """Run `trial` to its verdict; its folder then holds all evidence, cell.json last. Call it from a thread.

        Raises Transient where there is no verdict, Missing where there can be none, Cancelled where `stop` cut it short
        (in all three cases the evidence is set aside), BadDocument, OSError.
        """
        started = time.monotonic()
        folder = start_folder(self.evidence, trial)
        try:
            with self._room(trial) as room:
                played = self._play(self.tasks[trial.task_id], room, folder, stop)
        except (Transient, Missing, Cancelled) as error:
            set_aside(folder)
            if stop.event.is_set():
                raise Cancelled(f"'{trial}' was cancelled") from error
            raise
        except OSError:
            self.spoiled.set()
            raise
        if self.spoiled.is_set():
            set_aside(folder)
            raise Transient("the disk failed in another trial meanwhile")
        result = played.result
        cell = make_cell(
            self.subject,
            trial,
            reward=played.verdict.reward,
            note=self._note(played, folder),
            tests=played.verdict.tests,
            stop_reason=result.stop_reason if result else None,
            usage=result.usage if result else None,
            judge_usage=played.judge_usage,
            timings={**played.timings, "total": round(time.monotonic() - started, 4)},
        )
        write_cell(self.evidence, trial, cell)
        return cell

    @contextmanager
    def _room(self, trial: Trial) -> Iterator[Path]:
        """Give a folder for the trial's workspace, removed at the end. Its name is fixed: without a box it can show."""
        room = self.work_dir / f"{trial.task_id}.{trial.attempt}"
        room.mkdir()
        try:
            check_room(room)
            yield room
        finally:
            remove_workspace(room)

    def _play(self, task: Task, room: Path, folder: Path, stop: Stop) -> Played:
        """Let the agent work, then the verifier or the judge."""
        mode: SandboxMode = self.subject.conditions.sandbox
        shares = self.judge is None and task.verifier_environment == "shared"
        workspace = room / "app"
        copy_workspace(task, workspace)
        binds = (*self.agent.binds(task), *(shared_binds(task, folder, room) if shares else ()))
        begun = time.monotonic()
        verdict: Verdict | None = None
        with Sandbox(workspace, binds=binds, limits=task.limits, mode=mode) as sandbox, stop.calling(sandbox.close):
            result = self.agent.work(Desk(task, workspace, sandbox, folder, stop.event))
            _refuse_cut(task, cut=stop.event.is_set())
            worked = time.monotonic()
            if shares:
                verdict = verify(task, workspace, folder, mode=mode, shared=sandbox)
        judge_usage = None
        if self.judge is not None and result is not None:
            verdict, judge_usage = self.judge.verdict(task, result, folder, stop)
        verdict = verdict or verify(task, workspace, folder, mode=mode, guard=stop.calling)
        _refuse_cut(task, cut=stop.event.is_set() and verdict.cut_short)
        seconds = {name: round(value, 4) for name, value in verdict.timings.items()}
        return Played(result, verdict, judge_usage, {"agent": round(worked - begun, 4), **seconds})

    def _note(self, played: Played, folder: Path) -> str:
        judged = played.judge_usage is not None
        return cell_note(
            passed=passes(played.verdict.reward, self.subject.conditions.reward_mode),
            result=played.result,
            verdict_note=played.verdict.note,
            output="" if judged else (folder / "verifier" / OUTPUT_NAME).read_text("utf-8"),
        )


def _refuse_cut(task: Task, *, cut: bool) -> None:
    """Raise Cancelled where the agent or the verifier may have been ended by the stop: their work is no result."""
    if cut:
        raise Cancelled(f"the attempt at '{task.id}' was cancelled")
