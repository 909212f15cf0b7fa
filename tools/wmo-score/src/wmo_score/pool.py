"""Trials in parallel: which ran, which gave no verdict, and no new ones after trouble or a request to stop."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Event

from wmo_contracts.score import CellDocument
from wmo_kit.child import Flag
from wmo_kit.errors import Cancelled, Missing, Transient

from wmo_score.matrix import Trial


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
    stop: Flag,
    on_cell: Callable[[CellDocument], None],
) -> Finished:
    """Run `due` on `jobs` threads, in order. `run` raises Transient for no verdict, Cancelled when `stop` cut it short.

    After a failure of any kind no new trial is started, and those that run are waited for. A failure that is not
    Transient is raised at the end, a Missing with the trial's name. `on_cell` is called in the caller's thread, as
    trials finish.
    """
    trouble = Event()

    def guarded(trial: Trial) -> CellDocument | None:
        if stop.is_set() or trouble.is_set():
            return None
        try:
            return run(trial)
        except Cancelled:
            return None
        except BaseException:
            trouble.set()
            raise

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="trial") as executor:
        futures = {executor.submit(guarded, trial): trial for trial in due}
        try:
            for future in as_completed(futures):
                if future.exception() is None and (cell := future.result()):
                    on_cell(cell)
        finally:
            trouble.set()  # where `on_cell` failed, what is queued must not start
    errors = {futures[future]: error for future in futures if (error := future.exception())}
    for trial, error in errors.items():
        if isinstance(error, Missing):
            raise Missing(f"no verdict for '{trial}': {error}") from error
        if not isinstance(error, Transient):
            raise error
    cells = {trial: cell for future, trial in futures.items() if trial not in errors and (cell := future.result())}
    return Finished(cells, {trial: str(error) for trial, error in errors.items()})
