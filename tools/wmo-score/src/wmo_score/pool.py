"""Trials in parallel: which ran, which gave no verdict, and no new ones after trouble or a request to stop."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

from wmo_contracts.score import CellDocument
from wmo_kit.errors import Transient

from wmo_score.matrix import Trial


class Cancelled(Exception):
    """A trial was cut short because a stop was asked for: no result of any kind."""


@dataclass(frozen=True)
class Finished:
    """What a pool's run gave: a cell for every trial that finished, the message of each that gave no verdict."""

    cells: Mapping[Trial, CellDocument]
    failures: Mapping[Trial, str]


def run_trials(
    due: Sequence[Trial],
    run: Callable[[Trial], CellDocument],
    *,
    jobs: int,
    stop: Event,
    on_cell: Callable[[Trial, CellDocument], None],
) -> Finished:
    """Run `due` on `jobs` threads, in order. `run` raises Transient for no verdict, Cancelled when `stop` cut it short.

    After a failure of any kind no new trial is started, and those that run are waited for. A failure that is not
    Transient is raised at the end. `on_cell` is called from the pool's threads.
    """
    trouble = Event()

    def guarded(trial: Trial) -> CellDocument | None:
        if stop.is_set() or trouble.is_set():
            return None
        try:
            cell = run(trial)
        except Cancelled:
            return None
        except BaseException:
            trouble.set()
            raise
        on_cell(trial, cell)
        return cell

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="trial") as executor:
        futures = {trial: executor.submit(guarded, trial) for trial in due}
    cells: dict[Trial, CellDocument] = {}
    failures: dict[Trial, str] = {}
    for trial, future in futures.items():
        error = future.exception()
        if isinstance(error, Transient):
            failures[trial] = str(error)
        elif error is not None:
            raise error
        elif (cell := future.result()) is not None:
            cells[trial] = cell
    return Finished(cells, failures)
