"""Reads from disk what the leak check holds against a candidate."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from wmo_suites.gold import GOLD
from wmo_suites.task import Task

from wmo_propose.leak_check import TaskTexts

FILE_BYTES = 1 << 20
"""What is read of one file; what is longer is data, and a quote of it most likely begins at its head."""
TASK_BYTES = 4 << 20
"""What is read of one task, files in sorted order: the whole suite is read after each turn."""


def read_task_texts(tasks: Iterable[Task]) -> Iterator[TaskTexts]:
    """Give each task's instruction, assertions, verifier and solution, one task at a time.

    Links are left out. Raises OSError.
    """
    for task in tasks:
        texts = {"instruction.md": task.instruction}
        texts |= {f"{GOLD}, assertion {number}": text for number, text in enumerate(task.assertions or (), 1)}
        room = TASK_BYTES
        for path in (*_files(task.tests), *_files(task.solution)):
            with path.open("rb") as file:
                data = file.read(min(FILE_BYTES, room))
            room -= len(data)
            texts[path.relative_to(task.path).as_posix()] = data.decode(errors="replace")
        yield TaskTexts(task.id, texts)


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file() and not path.is_symlink())
