"""The replay environment: recorded episodes answer, and nothing else. Free, deterministic, as wide as they are."""

import threading
from collections.abc import Hashable

from wmo_contracts.episode import Action, Observation

from wmo_suites.nearest import RecordedSteps, call_key
from wmo_suites.tool_calls import call_problem

NOT_RECORDED = "not recorded: no recorded episode of this task has this call of '{tool}', so nobody knows its result"


class Replay:
    """One episode at a task, answered from `recorded`. Implements Environment. Thread-safe.

    A call gets the observation of the very same call at the same task. Where it was recorded more than once, the
    episode answers that went the same way for longest.
    """

    def __init__(self, task_id: str, recorded: RecordedSteps) -> None:
        self._task_id, self._recorded = task_id, recorded
        self._lock = threading.Lock()
        self._done: list[Hashable] = []

    def execute(self, action: Action) -> Observation:
        """Give the recorded observation; an error observation that says so where there is none."""
        if problem := call_problem(action):
            return Observation(content=problem, is_error=True)
        with self._lock:
            step = self._recorded.recorded(self._task_id, self._done, action)
            self._done.append(call_key(action))
        if step is None:
            return Observation(content=NOT_RECORDED.format(tool=action.name), is_error=True)
        return step.observation

    def close(self) -> None:
        """Do nothing: nothing runs."""
