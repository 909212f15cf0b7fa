"""Episodes that were played for real: read back from the trials of runs and of kept scorings.

A step of a world model is a prediction, and never becomes an example: only trials of a sandbox are read.
"""

import hashlib
import json
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from wmo_contracts.episode import EpisodeDocument, EpisodeResult, Step
from wmo_contracts.score import CellDocument
from wmo_kit.documents import read_json_part
from wmo_kit.errors import BadDocument, shown

from wmo_suites.tool_calls import ARGUMENTS, call_problem

CELL, EPISODE, RESULT = "cell.json", "episode.json", "wmo-run.json"
PLACES = ("trials/*/attempt-*", "candidates/*/trials/*/attempt-*")
"""Where a `--keep` folder of wmo-score has its trials, and a run."""
FINISHED = re.compile(r"attempt-[1-9][0-9]*")
"""The folder of a trial that may be finished: what was cut short is beside it as `attempt-1.partial`."""


@dataclass(frozen=True)
class RecordedEpisode:
    """One finished real episode: its task, the calls that its sandbox answered, in order, and its harness's tree."""

    task_id: str
    steps: tuple[Step, ...]
    tree_hash: str = ""


@dataclass(frozen=True)
class Recordings:
    """All that was read. `digest` is the BLAKE2b-16 hex of tasks, calls and observations, in order; "" for nothing."""

    episodes: tuple[RecordedEpisode, ...] = ()
    digest: str = ""

    def without_tree(self, tree_hash: str) -> Self:
        """Give all but the episodes of one harness; the digest stays that of what was read."""
        return replace(self, episodes=tuple(one for one in self.episodes if one.tree_hash != tree_hash))

    def without(self, task_ids: Container[str]) -> Self:
        """Give all but the episodes of these tasks; the digest stays that of what was read."""
        return replace(self, episodes=tuple(one for one in self.episodes if one.task_id not in task_ids))


def read_recordings(folders: Sequence[Path]) -> Recordings:
    """Read the finished real trials in `folders`: runs, or folders that `wmo-score --keep` made. In order of the paths.

    Raises BadDocument for a folder without any, and for a trial that does not hold together; OSError.
    """
    episodes: list[RecordedEpisode] = []
    for folder in folders:
        if not folder.is_dir():
            raise BadDocument(f"no recorded episodes in '{folder}': there is no such folder")
        found = list(_real_episodes(folder))
        if not found:
            raise BadDocument(
                f"no recorded episodes in '{folder}': name a run, or a folder that 'wmo-score --keep' made, with a "
                "finished trial of a harness in a sandbox"
            )
        episodes += found
    return Recordings(tuple(episodes), _digest(episodes) if episodes else "")


def require_recordings(folders: Sequence[Path], digest: str) -> Recordings:
    """Read the recorded episodes that a run uses. `digest` is what the run records of them.

    Raises BadDocument where they are not what they were, and what read_recordings raises.
    """
    found = read_recordings(folders)
    if found.digest != digest:
        raise BadDocument(
            f"the recorded episodes in '{', '.join(str(folder) for folder in folders)}' are not those that the run was "
            f"made with: they hash to '{found.digest}', and not to '{digest}': restore them, or start a new run "
            "directory"
        )
    return found


def _real_episodes(folder: Path) -> Iterator[RecordedEpisode]:
    trials = sorted(path for place in PLACES for path in folder.glob(place) if FINISHED.fullmatch(path.name))
    for trial in trials:
        if not (trial / CELL).is_file() or not (trial / EPISODE).is_file():  # not finished, or no agent's
            continue
        episode = read_json_part(trial / EPISODE, EpisodeDocument)
        if episode.environment.kind == "sandbox":
            yield _read_trial(trial, episode)


def _read_trial(trial: Path, episode: EpisodeDocument) -> RecordedEpisode:
    cell, result = read_json_part(trial / CELL, CellDocument), read_json_part(trial / RESULT, EpisodeResult)
    for name, found in ((CELL, cell.cell.task_id), (RESULT, result.task_id)):
        if found != episode.task.id:
            raise BadDocument(
                f"bad '{trial / name}': it is of task '{shown(found)}', '{EPISODE}' beside it of "
                f"'{shown(episode.task.id)}': restore the trial from a copy, or move it away"
            )
    return RecordedEpisode(episode.task.id, environment_steps(episode, result.steps), cell.tree_hash)


def environment_steps(episode: EpisodeDocument, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Give the steps that the environment answered by carrying them out. The rest is the shim's own word.

    The shim answers itself: a tool that the harness does not offer, arguments that are missing or no text, and every
    call past `max_env_actions`. What the call check refuses never reaches the workspace either.
    """
    offered = {tool.name for tool in episode.tools} & set(ARGUMENTS)
    passed = [step for step in steps if step.action.name in offered and _has_arguments(step)]
    return tuple(step for step in passed[: episode.limits.max_env_actions] if not call_problem(step.action))


def _has_arguments(step: Step) -> bool:
    wanted = ARGUMENTS[step.action.name]
    return step.action.kind == "tool" and all(isinstance(step.action.arguments.get(name), str) for name in wanted)


def _digest(episodes: Sequence[RecordedEpisode]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for episode in episodes:
        facts = [
            episode.task_id,
            *(step.model_dump(mode="json", include={"action", "observation"}) for step in episode.steps),
        ]
        digest.update(json.dumps(facts, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()
