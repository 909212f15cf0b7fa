"""One trial: fresh ground, the agent's work, the verifier's or the judge's verdict, and the evidence of all three."""

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
from wmo_suites.task import Task
from wmo_suites.verifier import OUTPUT_NAME, Verdict, shared_binds, verify
from wmo_suites.workspace import remove_workspace

from wmo_score.agents import Agent, Desk
from wmo_score.cells import set_aside, start_folder, write_cell
from wmo_score.judging import Judge
from wmo_score.matrix import Subject, Trial, make_cell
from wmo_score.notes import cell_note
from wmo_score.places import Ground, Place


@dataclass(frozen=True)
class Played:
    """What a trial gave: the episode (None without one), the verdict, the judge's usage, seconds by phase.

    `world_usage` is None where the place was real, `judge_usage` where the task's verifier gave the verdict.
    """

    result: EpisodeResult | None
    verdict: Verdict
    world_usage: Usage | None
    judge_usage: Usage | None
    timings: Mapping[str, float]


@dataclass(frozen=True)
class TrialRunner:
    """Runs single trials of one subject. `evidence` is the candidate's folder, `work_dir` one for working files.

    `place` is where its agent acts. `judge` gives the verdicts in the place of the tasks' verifiers, which are not run
    then; None: they do, over the workspace of a real place.
    `spoiled` is set once a disk failed: it is all trials' disk, so those that still run get no verdict either.
    """

    subject: Subject
    tasks: Mapping[str, Task]
    agent: Agent
    place: Place
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
                played = self._play(trial, room, folder, stop)
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
            world_usage=played.world_usage,
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

    def _play(self, trial: Trial, room: Path, folder: Path, stop: Stop) -> Played:
        """Let the agent work, then the verifier or the judge."""
        task = self.tasks[trial.task_id]
        shares = self.judge is None and task.verifier_environment == "shared"
        binds = (*self.agent.binds(task), *(shared_binds(task, folder, room) if shares else ()))
        begun = time.monotonic()
        verdict: Verdict | None = None
        with (
            self.place.open(task, room, folder, binds) as ground,
            stop.calling(ground.environment.close),
        ):
            result = self.agent.work(Desk(task, ground, self.place, folder, stop.event))
            _refuse_cut(task, cut=stop.event.is_set())
            worked = time.monotonic()
            if shares:
                verdict = self._verify(task, ground, folder, stop)
        judge_usage = None
        if self.judge is not None and result is not None:
            verdict, judge_usage = self.judge.verdict(task, trial, result, folder, stop)
        verdict = verdict or self._verify(task, ground, folder, stop)
        _refuse_cut(task, cut=stop.event.is_set() and verdict.cut_short)
        seconds = {name: round(value, 4) for name, value in verdict.timings.items()}
        timings = {"agent": round(worked - begun, 4), **seconds}
        return Played(result, verdict, ground.world_usage, judge_usage, timings)

    def _verify(self, task: Task, ground: Ground, folder: Path, stop: Stop) -> Verdict:
        """Run the task's verifier: in the episode's own sandbox where the task shares it, else in a fresh one."""
        mode: SandboxMode = self.subject.conditions.sandbox
        if ground.workspace is None:
            raise AssertionError("a trial without a workspace needs a judge")
        if task.verifier_environment == "shared":
            return verify(task, ground.workspace, folder, mode=mode, shared=ground.sandbox)
        return verify(task, ground.workspace, folder, mode=mode, guard=stop.calling)

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
