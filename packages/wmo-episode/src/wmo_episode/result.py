"""Why an episode ended: from what the agent said, what its process did and what the model did. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wmo_contracts.episode import Action, EpisodeResult, Observation, Step, StopReason, Usage
from wmo_kit.child import ChildResult
from wmo_models.provider import ProviderError

from wmo_episode.session import Done

STDERR_CHARS = 500
"""The end of stderr that becomes the note (design 5)."""

_REASONS: dict[str, StopReason] = {
    "submit": "submitted",
    "submitted": "submitted",
    "max_turns": "max_turns",
    "no_action": "no_action",
    "error": "error",
    "budget": "budget",
    "no_tool_call": "no_tool_call",
    "output_truncated": "output_truncated",
    "unparsed_tool_call": "unparsed_tool_call",
    "provider_error": "provider_error",
}


@dataclass(frozen=True)
class Ending:
    """How an episode ended, apart from its steps.

    `child` is None where no process was the agent (served by hand). `hidden` are texts that vary between two equal
    runs (address, token, folder) and what stands for them in notes. `runtime` names the agent's in the closing step.
    """

    done: Done | None
    provider_error: ProviderError | None
    child: ChildResult | None = None
    timeout_s: int = 0
    hidden: Mapping[str, str] = field(default_factory=dict)
    runtime: str = "pi"

    def steady(self, text: str) -> str:
        """Give `text` without what varies."""
        for varying, name in self.hidden.items():
            text = text.replace(varying, name)
        return text


def conclude(
    task_id: str, ending: Ending, steps: tuple[Step, ...], usage: Usage, timings: Mapping[str, float]
) -> EpisodeResult:
    """Give the result. Whatever is no submission of the agent's own ends with a step that says why."""
    reason, note = stop_reason(ending)
    if reason != "submitted":
        steps = (*steps, _closing_step(task_id, ending.runtime, note or reason))
    return EpisodeResult(
        task_id=task_id,
        steps=steps,
        stop_reason=reason,
        model_fault=None if ending.provider_error is None else ending.provider_error.fault,
        answer=ending.done.answer if ending.done else "",
        turns=len(steps),
        note=note,
        usage=usage,
        timings=dict(timings),
    )


def stop_reason(ending: Ending) -> tuple[StopReason, str]:
    """Give why the episode ended, and a note for people ("" for a submission).

    A provider error is never a submission, even where the agent says so. After /done, how the process ended does not
    matter. Without it, exit 0 is taken for an agent that used up its turns. Time that ended while the model had not
    answered is the agent's, "error", where the model is well, else a provider error (Runtime.run finds out).
    """
    if ending.provider_error is not None:
        return "provider_error", ending.steady(str(ending.provider_error))
    if ending.done is not None:
        return _by_word(ending.done, ending)
    child = ending.child
    if child is None:
        return "error", "the episode was stopped before /done"
    if child.timed_out:
        return "error", f"timed out after {ending.timeout_s} s"
    if child.returncode == 0:
        return "max_turns", "the agent's process ended without /done"
    stderr = ending.steady(child.stderr.decode(errors="replace")).strip()[-STDERR_CHARS:]
    return "error", stderr or f"the agent's process ended with status {child.returncode} and said nothing"


def _by_word(done: Done, ending: Ending) -> tuple[StopReason, str]:
    reason, note = _REASONS.get(done.reason), ending.steady(done.note)
    if reason is None:
        return "unknown_done_reason", note or f"the agent ended with the unknown reason '{done.reason}'"
    return reason, "" if reason == "submitted" else note


def _closing_step(task_id: str, runtime: str, note: str) -> Step:
    action = Action(kind="message", content=f"({runtime} runtime)")
    return Step(action=action, observation=Observation(content=note, is_error=True), task=task_id)
