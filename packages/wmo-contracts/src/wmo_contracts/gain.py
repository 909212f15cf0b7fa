"""The gain of one harness over another on the same tasks, and what a run shows of it on its held-out tasks."""

from wmo_contracts.base import Part


class TaskGain(Part):
    """One task's pass rates, 0 to 1, under both harnesses."""

    task_id: str
    seed: float
    best: float


class Gain(Part):
    """What `best` gains over `seed` on the tasks that both were scored on: mean pass rates, and their difference.

    `low` and `high` bound it at 95 %. `within_noise`: as far as these tasks can tell, there may be no difference. All
    numbers are None where there is no task.
    """

    seed: float | None
    best: float | None
    gain: float | None
    low: float | None
    high: float | None
    within_noise: bool
    tasks: tuple[TaskGain, ...]


class HoldoutView(Part):
    """A run's held-out tasks: the seed and the best candidate on them; a number is None until it is measured."""

    tasks: tuple[str, ...]
    candidate_id: str | None = None
    seed_score: float | None = None
    best_score: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    within_noise: bool | None = None
