"""Does a candidate know the tasks that it is scored on? It must neither name them nor quote what they are made of.

Only what was added counts: files that are not the seed's, and in them only what the seed says nowhere. Two rules:

names   A task's id as a whole word. An id of one word may be a word of the language ("permissions"): it counts only
        where it is marked as a task's, in quotes after "task" or in a path tasks/<id>.
quotes  QUOTE_WORDS consecutive words of an instruction or a verifier, SOLUTION_WORDS of a solution. Case, punctuation
        and line breaks do not count. At least TELLING_WORDS of them must be different words of three or more letters:
        number tables and character classes look alike everywhere.

Measured with the bundled tasks against some 7,500 source files that have nothing to do with them: no quote is found.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from wmo_harness.source_tree import SourceTree

INSTRUCTION = "instruction.md"
SOLUTION = "solution/"
QUOTE_WORDS = 8
SOLUTION_WORDS = 20
"""A solution is never shown to a proposer, and a good procedure has the same commands of the trade, some in a row."""
TELLING_WORDS = 5
MAX_REASONS = 20
"""More are not told: nobody reads further."""

WORD = re.compile(r"[^\W_]+")
TELLING = re.compile(r"[^\W\d_]{3,}")
IDIOM = re.compile(r"^[ \t]*(?:#!.*|set -.*|(?:from[ \t]+\S+[ \t]+)?import\b.*)$", re.MULTILINE)
"""Lines that scripts of any purpose share; a quote of code does not reach across them."""
COMPOUND = re.compile(r"[._-]")
MARK = r"task(?:s|[ _]?(?:id|name))?[\"'`]?\s{0,2}(?:is|named|called|[!=]={0,2}|:)?\s{0,2}[\"'`]"
"""Bounded: blanks without end would take time without end."""

Run = tuple[str, ...]


@dataclass(frozen=True)
class TaskTexts:
    """What a candidate must not know of the task `id`: texts by path in the task's folder, such as tests/test.sh."""

    id: str
    texts: Mapping[str, str]


def leak_problems(tree: SourceTree, seed: SourceTree, tasks: Iterable[TaskTexts]) -> Sequence[str]:
    """Give a reason for each task that a file of `tree` names, and for each text that it quotes; sorted as `tasks` are.

    Words that several texts have in common are told for the first. `tasks` is gone through once.
    """
    seeds = seed.as_mapping()
    added = {path: text for path, text in tree.as_mapping().items() if seeds.get(path) != text}
    names = _Names(added, seeds)
    quotes, solutions = _Quotes(added, seeds, QUOTE_WORDS), _Quotes(added, seeds, SOLUTION_WORDS)

    def problems() -> Iterator[str]:
        for task in tasks:
            yield from names.problems(task.id)
            for name, text in task.texts.items():
                yield from (solutions if name.startswith(SOLUTION) else quotes).problems(task.id, name, text)

    found = list(islice(problems(), MAX_REASONS + 1))
    return found if len(found) <= MAX_REASONS else [*found[:MAX_REASONS], "... and more knowledge of the tasks"]


@dataclass(frozen=True)
class _Names:
    """Where ids stand. `added` are a candidate's new and changed files, `seed` the seed's files: texts by path."""

    added: Mapping[str, str]
    seed: Mapping[str, str]

    @cached_property
    def _lowered(self) -> Mapping[str, str]:
        return {path: f"{path}\n{text}".lower() for path, text in self.added.items()}

    @cached_property
    def _lowered_seed(self) -> str:
        return "\n".join(f"{path}\n{text}" for path, text in self.seed.items()).lower()

    def problems(self, task_id: str) -> Iterator[str]:
        places = [path for path, text in self._lowered.items() if task_id in text]
        name = _name_pattern(task_id)
        if not places or name.search(self._lowered_seed):
            return
        for path in places:
            if name.search(self._lowered[path]):
                yield f"'{path}' names the task '{task_id}': a candidate must not know its tasks"


def _name_pattern(task_id: str) -> re.Pattern[str]:
    word = rf"{re.escape(task_id)}(?![\w-])"
    if COMPOUND.search(task_id):
        return re.compile(rf"(?<![\w-]){word}")
    return re.compile(rf"(?:{MARK}|\b(?:tasks|trials)/){word}")


@dataclass(frozen=True)
class _Quotes:
    """Where runs of `length` words stand, in the files of _Names. Runs are kept as hashes: a tree may have 8 MiB."""

    added: Mapping[str, str]
    seed: Mapping[str, str]
    length: int
    told: set[int] = field(default_factory=set)

    @cached_property
    def _added_runs(self) -> set[int]:
        return {hash(run) for text in self.added.values() for run in self._runs(text)}

    @cached_property
    def _seed_runs(self) -> set[int]:
        """Asked for only once something looks like a quote, which is rare."""
        return {hash(run) for text in self.seed.values() for run in self._runs(text)}

    def problems(self, task_id: str, name: str, text: str) -> Iterator[str]:
        parts = [text] if name == INSTRUCTION else IDIOM.split(text)
        found: set[int] = set()
        for part in parts:
            found |= self._added_runs.intersection(map(hash, self._runs(part)))
        found -= self.told
        if not found:
            return
        self.told.update(found)
        quotes = [run for part in parts for run in self._runs(part) if hash(run) in found and self._is_quote(run)]
        for path in self.added if quotes else ():
            runs = set(self._runs(self.added[path]))
            quote = next((run for run in quotes if run in runs), None)
            if quote:
                said = " ".join(quote)
                yield f"'{path}' quotes '{name}' of task '{task_id}' (\"{said}\"): a candidate must not know its tasks"

    def _is_quote(self, run: Run) -> bool:
        telling = {word for word in run if TELLING.fullmatch(word)}
        return len(telling) >= TELLING_WORDS and hash(run) not in self._seed_runs

    def _runs(self, text: str) -> Iterator[Run]:
        """Give every `length` consecutive words of a text, in order."""
        words = WORD.findall(text.lower())
        return zip(*(islice(words, start, None) for start in range(self.length)), strict=False)
