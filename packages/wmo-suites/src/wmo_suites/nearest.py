"""Which recorded steps tell most about a call: a pure ranking, made once for all episodes and threads of a process."""

import heapq
import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from wmo_contracts.episode import Action, Step

from wmo_suites.recorded import RecordedEpisode

WORD = re.compile(r"[\w.-]+")
INDEXED_CHARACTERS = 4000
"""Of a call's arguments, so much is compared: a file's whole content says no more about which file it is."""
COMPARED = 5000
"""The most steps of one tool (and task) that a call is compared with, the first recorded: it bounds a call's cost."""

Agreement = tuple[int, int, int]


class Example(NamedTuple):
    """A recorded step: of which task, and whether its call is the very same as the one that was asked about."""

    task_id: str
    step: Step
    same_call: bool


@dataclass(frozen=True)
class _Entry:
    """One recorded step, ready to be compared. `keys` are those of the whole episode, `place` the step's in it."""

    order: int
    task_id: str
    step: Step
    words: frozenset[str]
    keys: tuple[Hashable, ...]
    place: int

    @property
    def key(self) -> Hashable:
        return self.keys[self.place]

    @property
    def alike(self) -> Hashable:
        return self.task_id, self.key, self.step.observation.content


class RecordedSteps:
    """The steps of recorded episodes, to be looked up. Immutable once made: share it between threads."""

    def __init__(self, episodes: Iterable[RecordedEpisode]) -> None:
        self._of_task: dict[tuple[str, str], list[_Entry]] = defaultdict(list)
        self._of_tool: dict[str, list[_Entry]] = defaultdict(list)
        self._same: dict[tuple[str, Hashable], list[_Entry]] = defaultdict(list)
        order = 0
        seen: set[Hashable] = set()
        for episode in episodes:
            keys = tuple(call_key(step.action) for step in episode.steps)
            for place, step in enumerate(episode.steps):
                entry = _Entry(order, episode.task_id, step, _words(step.action), keys, place)
                order += 1
                self._same[episode.task_id, entry.key].append(entry)
                if entry.alike not in seen:  # attempts begin alike: what they share is one example
                    seen.add(entry.alike)
                    self._of_task[episode.task_id, step.action.name].append(entry)
                    self._of_tool[step.action.name].append(entry)

    def recorded(self, task_id: str, done: Sequence[Hashable], action: Action) -> Step | None:
        """Give the recorded step of this very call at this task, None where there is none.

        `done` are the keys of the episode's calls so far. Of several, the one that comes after the most alike calls.
        """
        entries = self._same.get((task_id, call_key(action)), ())
        best = max(entries, key=lambda entry: (_agreement(entry, done), -entry.order), default=None)
        return None if best is None else best.step

    def nearest(self, task_id: str, done: Sequence[Hashable], action: Action, count: int) -> tuple[Example, ...]:
        """Give at most `count` examples for a call, the nearest first, no two of them alike.

        Steps of the same task and tool come before those of the same tool at other tasks; among them the very same call
        (as in `recorded`) before others, which come by how many of their words they share. Ties: the first recorded.
        """
        key, words = call_key(action), _words(action)
        tiers = (
            self._same.get((task_id, key), []),
            self._of_task.get((task_id, action.name), []),
            [entry for entry in self._of_tool.get(action.name, [])[:COMPARED] if entry.task_id != task_id],
        )
        chosen: dict[Hashable, Example] = {}
        for tier in tiers:
            left = [entry for entry in tier[:COMPARED] if entry.alike not in chosen]
            wanted = count - len(chosen)
            for entry in heapq.nsmallest(wanted, left, key=lambda entry: _distance(entry, key, words, done)):
                chosen.setdefault(entry.alike, Example(entry.task_id, entry.step, entry.key == key))
        return tuple(chosen.values())


def call_key(action: Action) -> Hashable:
    """Give what two equal calls have in common: the tool and its arguments, in any order."""
    return action.name, json.dumps(action.arguments, sort_keys=True)


def _words(action: Action) -> frozenset[str]:
    text = " ".join(str(value)[:INDEXED_CHARACTERS] for value in action.arguments.values())
    return frozenset(WORD.findall(text.lower()))


def _distance(entry: _Entry, key: Hashable, words: frozenset[str], done: Sequence[Hashable]) -> tuple[float, ...]:
    """Give what the ranking sorts by, the nearest being the least."""
    if entry.key == key:
        return (-1.0, *(-float(part) for part in _agreement(entry, done)), entry.order)
    together = len(words | entry.words)
    return (1.0 - len(words & entry.words) / together if together else 0.0, entry.order)


def _agreement(entry: _Entry, done: Sequence[Hashable]) -> Agreement:
    """Say how well the calls before a recorded step agree with those `done`, more being better.

    First how many from the start on are the same; then how many are the same in any order; then fewer others.
    """
    before = entry.keys[: entry.place]
    prefix = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, done, strict=False)))
    shared = (Counter(before) & Counter(done)).total()
    return prefix, shared, -entry.place
