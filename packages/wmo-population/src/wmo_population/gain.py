"""The gain of one harness over another, with what chance may have done to it. Pure. Imports numpy: slow to load."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from wmo_contracts.gain import Gain, TaskGain
from wmo_contracts.score import ScoreReport

RESAMPLES = 10_000
RANDOM_SEED = 20_240_601
PERCENTILES = (2.5, 97.5)
FEWEST_TASKS = 6
DIGITS = 12
"""Differences of sums of thirds are off by the last bits of a float; rounded, no difference is 0."""
BATCH_DRAWS = 1_000_000
"""Resampled tasks held in memory at a time."""

Rates = npt.NDArray[np.float64]


def paired_gain(seed: ScoreReport, best: ScoreReport, tasks: Collection[str] | None = None) -> Gain:
    """Give the gain of `best` over `seed` on the tasks of both reports; with `tasks`, on those of them only.

    The gain is the mean over tasks of the difference of pass rates. Its interval is the 95 % percentile interval of a
    bootstrap on two levels: tasks are drawn again, the two harnesses' rates of a task always together, and in each task
    drawn the attempts of either harness. The same reports give the same numbers on every machine.

    It is within noise where the interval holds 0, and always below 6 tasks: a sign test cannot tell 5 tasks that all
    improved from chance (two-sided p = 2 * 2^-5 = 0.0625), while the bootstrap of so few looks surer than it is.
    """
    before, after = _rates(seed), _rates(best)
    shared = [task for task in sorted(before.keys() & after.keys()) if tasks is None or task in tasks]
    rows = tuple(TaskGain(task_id=task, seed=before[task], best=after[task]) for task in shared)
    if not rows:
        return Gain(seed=None, best=None, gain=None, low=None, high=None, within_noise=True, tasks=())
    seed_rates, best_rates = np.array([row.seed for row in rows]), np.array([row.best for row in rows])
    means = _resampled(seed_rates, seed.request.attempts, best_rates, best.request.attempts)
    low, high = (round(float(bound), DIGITS) for bound in np.percentile(means, PERCENTILES))
    return Gain(
        seed=round(float(seed_rates.mean()), DIGITS),
        best=round(float(best_rates.mean()), DIGITS),
        gain=round(float((best_rates - seed_rates).mean()), DIGITS),
        low=low,
        high=high,
        within_noise=len(rows) < FEWEST_TASKS or low <= 0 <= high,
        tasks=rows,
    )


def _rates(report: ScoreReport) -> dict[str, float]:
    """Give each task's pass rate."""
    passed = dict.fromkeys(report.request.task_ids, 0)
    for cell in report.cells:
        passed[cell.task_id] += cell.passed
    return {task: count / report.request.attempts for task, count in passed.items()}


def _resampled(seed: Rates, seed_attempts: int, best: Rates, best_attempts: int) -> Rates:
    """Give the gains of RESAMPLES resamples. Drawing a task's attempts again is a binomial draw by its pass rate."""
    random = np.random.RandomState(RANDOM_SEED)  # its streams are the same in every version, default_rng's are not
    tasks = len(seed)
    batch = max(BATCH_DRAWS // tasks, 1)
    means = []
    for start in range(0, RESAMPLES, batch):
        drawn = random.randint(tasks, size=(min(batch, RESAMPLES - start), tasks))
        seed_rates = random.binomial(seed_attempts, seed[drawn]) / seed_attempts
        best_rates = random.binomial(best_attempts, best[drawn]) / best_attempts
        means.append((best_rates - seed_rates).mean(axis=1))
    return np.concatenate(means)
