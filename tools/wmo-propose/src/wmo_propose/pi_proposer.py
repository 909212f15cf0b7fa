"""The proposer `pi`: the pristine vendored pi as a coding agent, in a sandbox over the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from wmo_contracts.episode import EpisodeResult, Limits, SandboxMode
from wmo_episode.runtime import EpisodeCancelled, PiRuntime
from wmo_harness.pi_agent import runtime_dir, seed_tree
from wmo_harness.tool_policy import tool_specs
from wmo_kit.stopping import Stop
from wmo_models.provider import Provider
from wmo_models.recording import RecordingProvider
from wmo_population.budget import TURN_CALLS, TURN_OUTPUT_TOKENS
from wmo_suites.box import Bind
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox

from wmo_propose.request import first_line
from wmo_propose.turn import TURN_WALL_S, Turn
from wmo_propose.workspace import Workspace

TOOLS = ("bash", "read_file", "submit")
MAX_ENV_ACTIONS = 200
"""pi may make several tool calls a turn, so this is above TURN_CALLS."""
COMMAND_TIMEOUT_S = 120.0
INSIDE = "/app"
MESSAGE = (
    "Read REQUEST.md in the current folder{where} and do what it asks. The history of earlier candidates is in "
    "history/, your copy to edit is candidate/. Submit when candidate/ holds the whole new harness."
)


@dataclass(frozen=True)
class PiProposer:
    """Plays a turn as one episode of pi's own, unchanged source. `work` is for folders of the while.

    `covers` are binds that hide from its shell what lies where any box looks; without a box they hide nothing.
    """

    provider: Provider
    vendor_dir: Path
    mode: SandboxMode
    work: Path
    context_window: int | None = None
    covers: tuple[Bind, ...] = ()

    def take_turn(self, workspace: Workspace, stop: Stop) -> Turn:
        """Let pi work to its end or to `stop`. Raises Missing (pi, node, bubblewrap), Negative for a changed pi."""
        recorder = RecordingProvider(self.provider)
        pi = PiRuntime(
            provider=recorder,
            files=seed_tree(self.vendor_dir),
            tools=tuple(tool_specs(TOOLS)),
            system=files("wmo_propose").joinpath("data", "SYSTEM.md").read_text("utf-8"),
            runtime=runtime_dir(self.vendor_dir),
            limits=Limits(
                max_turns=TURN_CALLS,
                max_output_tokens=TURN_OUTPUT_TOKENS,
                max_env_actions=MAX_ENV_ACTIONS,
                timeout_s=TURN_WALL_S,
                context_window=self.context_window,
            ),
            mode=self.mode,
            work=self.work,
        )
        limits = SandboxLimits(command_timeout_s=COMMAND_TIMEOUT_S)
        message = MESSAGE.format(where=f" ({INSIDE})" if self.mode == "bwrap" else "")
        binds = self._binds(workspace)
        with (
            Sandbox(workspace.root, binds=binds, limits=limits, mode=self.mode) as sandbox,
            stop.calling(sandbox.close),
        ):
            try:
                turn = _turn(pi.run("propose", message, sandbox, cancel=stop.event))
            except EpisodeCancelled as cancelled:
                turn = _cut_short(cancelled.partial)
        return replace(turn, exchanges=recorder.document())

    def _binds(self, workspace: Workspace) -> Sequence[Bind]:
        """Give the read-only mounts of a box; without one, the workspace holds links."""
        if self.mode == "none":
            return ()
        evidence = (Bind(mount.host, f"{INSIDE}/{mount.inside}") for mount in workspace.read_only())
        return (*self.covers, *evidence)


def _turn(result: EpisodeResult) -> Turn:
    problem = outage = ""
    if result.model_fault == "request":
        problem = f"the proposer's model refused the request: {result.note}"
    elif result.model_fault is not None:
        outage = f"the proposer's model failed: {result.note}"
    elif result.stop_reason == "error" and result.usage.calls == 0:
        outage = f"the proposer did not start: {result.note}"
    elif result.stop_reason != "submitted":
        problem = f"the agent did not submit, its turn ended with '{result.stop_reason}'"
    return Turn(
        stop_reason=result.stop_reason,
        summary=first_line(result.answer),
        events=_events(result),
        problem=problem,
        outage=outage,
        lasting=result.model_fault == "endpoint",
        usage=result.usage,
    )


def _cut_short(partial: EpisodeResult) -> Turn:
    return Turn(stop_reason="cancelled", summary="", events=_events(partial), cut_short=True, usage=partial.usage)


def _events(result: EpisodeResult) -> dict[str, Any]:
    events = {key: value for key, value in result.to_json().items() if key not in ("schema", "task_id")}
    return {"proposer": "pi", **events}
