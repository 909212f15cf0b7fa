"""An episode played again from its record: the recorded tools, and how what came of it compares with the record."""

import json
import threading
from collections.abc import Callable, Sequence
from itertools import zip_longest

from wmo_contracts.episode import Action, EpisodeResult, Observation, Replay, Step
from wmo_kit.errors import shown
from wmo_models.replay import ReplayProvider
from wmo_models.request_diff import text_difference

NOT_RECORDED = "this call is not in the record"
ENDING = [name for name in EpisodeResult.model_fields if name not in ("steps", "turns", "timings", "replay")]
"""The fields of a result that are compared whole."""


class RecordedTools:
    """An Environment that answers with a record's observations, each once, in their order; nothing is run.

    `on_unknown` is told of the first call that the rest of the record does not have, as a short line.
    """

    def __init__(self, steps: Sequence[Step], on_unknown: Callable[[str], None]) -> None:
        self._steps, self._on_unknown = tuple(steps), on_unknown
        self._lock = threading.Lock()
        self._next = 0

    def execute(self, action: Action) -> Observation:
        """Give the observation of the next recorded step with this action; an error where there is none."""
        with self._lock:
            for place in range(self._next, len(self._steps)):  # between: what the shim itself answered
                if self._steps[place].action == action:
                    self._next = place + 1
                    return self._steps[place].observation
        self._on_unknown(f"{_call(action)}: {NOT_RECORDED}")
        return Observation(content=NOT_RECORDED, is_error=True)

    @property
    def state_note(self) -> str:
        """The recorded world model's note before the next step; "" where it was a real place, or at the end."""
        with self._lock:
            return self._steps[self._next].state_before if self._next < len(self._steps) else ""

    def close(self) -> None:
        """Do nothing: nothing runs."""


def compare(provider: ReplayProvider, recorded: EpisodeResult, result: EpisodeResult) -> Replay:
    """Say how an episode that `provider` served compares with the one that was recorded. Timings do not count."""
    departure, kept, served = provider.departure, provider.recorded, provider.served
    if departure is not None:
        return Replay(
            outcome=departure.kind,
            recorded=kept,
            served=served,
            turn=departure.turn,
            differences=departure.differences,
        )
    differences = result_differences(recorded, result)
    if served < kept:
        return Replay(outcome="ended_early", recorded=kept, served=served, turn=served + 1, differences=differences[:1])
    if differences:
        return Replay(outcome="other_result", recorded=kept, served=served, differences=differences)
    return Replay(outcome="same", recorded=kept, served=served)


def verdict(replay: Replay) -> str:
    """Give the sentence for people."""
    told = "; ".join(replay.differences)
    match replay.outcome:
        case "same":
            return f"as recorded: all {replay.recorded} completions and the result"
        case "other_request":
            return f"turn {replay.turn}: the harness asks something else than recorded: {told}"
        case "other_action":
            return f"turn {replay.turn}: the harness acts in another way than recorded: {told}"
        case "record_ended":
            return f"turn {replay.turn}: {told}"
        case "ended_early":
            return f"turn {replay.turn} is recorded, but the harness ended without asking for it: {told}"
        case "other_result":
            return f"all {replay.recorded} completions are as recorded, the result is not: {told}"


def result_differences(recorded: EpisodeResult, result: EpisodeResult) -> tuple[str, ...]:
    """Name what is different between two results, apart from timings: how they ended, and the first other step."""
    lines = []
    for name in ENDING:
        old, new = getattr(recorded, name), getattr(result, name)
        if old != new:
            lines.append(_field(name, str(old), str(new)))
    pairs = enumerate(zip_longest(recorded.steps, result.steps), 1)
    step = next((f"step {number}: {_step(*pair)}" for number, pair in pairs if pair[0] != pair[1]), None)
    return (*lines, step) if step else tuple(lines)


def _field(name: str, old: str, new: str) -> str:
    if "\n" in old + new:
        return f"{name}: {text_difference(old, new)}"
    return f"{name}: recorded '{shown(old)}', now '{shown(new)}'"


def _step(old: Step | None, new: Step | None) -> str:
    if new is None or old is None:
        only = new or old
        return f"{'new' if new else 'missing'}: {_call(only.action) if only else ''}"
    if old.action != new.action:
        return f"recorded {_call(old.action)}, now {_call(new.action)}"
    if old.observation.content != new.observation.content:
        return f"what {_call(new.action)} gave: {text_difference(old.observation.content, new.observation.content)}"
    return f"what {_call(new.action)} gave is flagged differently"


def _call(action: Action) -> str:
    if action.kind == "message":
        return shown(action.content)
    return f"'{shown(action.name)}' {shown(json.dumps(action.arguments, sort_keys=True, ensure_ascii=False))}"
