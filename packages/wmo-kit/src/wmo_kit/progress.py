"""One live line about work in hand where stderr is a terminal, plain lines elsewhere."""

import contextlib
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from wmo_kit.log import Log
from wmo_kit.terminal import shown_on_one_line


class WorkProgress:
    """Counts `total` pieces of work under one label, e.g. "slot 2". A context manager; `advance` from any thread."""

    def __init__(self, log: Log, label: str, total: int, environ: Mapping[str, str]) -> None:
        """`environ` is asked for NO_COLOR, which also turns the live line off (design 2)."""
        self._log, self._label, self._total, self._done = log, label, total, 0
        live = sys.stderr.isatty() and "NO_COLOR" not in environ and not log.as_json
        self._bar = self._make_bar() if live else None

    def _make_bar(self) -> Progress:
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self) -> Self:
        """Show the line."""
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._total, last="")
        return self

    def advance(self, last: str) -> None:
        """One piece is done; `last` says which, and how it went."""
        last = shown_on_one_line(last)
        self._done += 1
        if self._bar:
            self._bar.update(self._task, advance=1, last=last)
        else:
            self._log.say(
                "progress", f"{self._label}: {self._done}/{self._total} {last}", done=self._done, total=self._total
            )

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the live line away."""
        if self._bar:
            with contextlib.suppress(OSError):  # the terminal may be gone, and the work is not its
                self._bar.stop()
