"""One agent episode: what it needs (`wmo.episode/1`) and what came of it (`wmo.episode-result/1`)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from wmo_contracts.base import Document, Part

StopReason = Literal[
    "submitted",
    "max_turns",
    "no_action",
    "error",
    "budget",
    "no_tool_call",
    "output_truncated",
    "unparsed_tool_call",
    "provider_error",
    "unknown_done_reason",
]
SandboxMode = Literal["bwrap", "none"]
EnvironmentKind = Literal["sandbox", "world-model", "replay"]
"""What answers an agent's tools: a real workspace, a model that plays one, or recorded episodes alone."""
COST_DIGITS = 9
"""Costs are rounded to so many decimals, so that the order in which parallel calls are added does not show."""
CALLS_A_TURN = 2
ModelFault = Literal["transient", "endpoint", "request"]
"""Whose failing a model failure is: it will pass, the endpoint's (or its settings'), the agent's own request's."""


class ToolSpec(Part):
    """A tool as the agent sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Skill(Part):
    """A skill the agent can read with read_skill."""

    name: str
    description: str
    content: str


class Limits(Part):
    """What an episode may use. The defaults are design 5's.

    Where `max_model_calls` is a number, one call or one environment action above its limit ends the episode as
    "budget". Where it is None, max_turns bounds the calls, and an agent is told of an action too many and goes on.
    """

    max_turns: Annotated[int, Field(ge=1)] = 20
    max_output_tokens: Annotated[int, Field(ge=1)] = 4096
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    max_env_actions: Annotated[int, Field(ge=1)] = 40
    max_model_calls: Annotated[int, Field(ge=1)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 300.0
    grace_s: Annotated[float, Field(ge=0)] = 60.0
    context_window: Annotated[int, Field(ge=1)] | None = None

    @property
    def model_calls(self) -> int:
        """The most calls of the model that the host answers, whatever the agent's own source says.

        Where there is no `max_model_calls`, two a turn: a loop may ask again, to sum up or to check, but not for ever.
        """
        return self.max_model_calls or CALLS_A_TURN * self.max_turns


class TaskRef(Part):
    """The task of an episode. `path`: its folder, absolute or relative to the document's own folder; "" where none."""

    id: str
    instruction: str
    path: str = ""


class HarnessRef(Part):
    """The candidate's source tree. `path` as in TaskRef."""

    path: str
    tree_hash: str
    doc_hash: str


class EnvironmentRef(Part):
    """Which environment answers the agent's tools.

    `recorded`: the folders whose real trials a world model takes examples from and a replay its answers, absolute or
    relative to the document's own folder; () for a sandbox, which `mode`, time limit and cap are about.
    """

    kind: EnvironmentKind = "sandbox"
    recorded: tuple[str, ...] = ()
    mode: SandboxMode = "bwrap"
    command_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    output_cap_bytes: Annotated[int, Field(ge=1024)] = 30_000


class ModelRef(Part):
    """Which configured role answers the agent, and the model's name. Addresses and keys stay in the configuration."""

    role: Literal["worker", "proposer"] = "worker"
    name: str


class EpisodeDocument(Document):
    """`wmo.episode/1`: everything one episode needs."""

    SCHEMA: ClassVar[str] = "wmo.episode/1"

    task: TaskRef
    harness: HarnessRef
    system: str
    tools: tuple[ToolSpec, ...]
    skills: tuple[Skill, ...] = ()
    limits: Limits = Limits()
    environment: EnvironmentRef = EnvironmentRef()
    model: ModelRef


class Action(Part):
    """What the agent did: a tool call (`name`, `arguments`) or a message (`content`)."""

    kind: Literal["tool", "message"]
    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    content: str = ""


class Observation(Part):
    """What came back. `exit_code` only for commands; `timed_out` and `truncated` say what the environment cut."""

    content: str
    is_error: bool = False
    exit_code: int | None = None
    timed_out: bool = False
    truncated: bool = False


class Step(Part):
    """One action and its observation. `state_before` is the world model's note; "" in a real environment."""

    action: Action
    observation: Observation
    state_before: str = ""
    task: str = ""


class Usage(Part):
    """Model usage. Tokens as the endpoint reported them, 0 where it did not; `cached_tokens` are among the prompt's.

    `cost` is in the currency of the prices that the configuration gives the endpoints; None where none has a price.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens, of prompts and completions."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: "Usage") -> "Usage":
        """Give the sum of two usages. What has no price adds nothing to the cost."""
        costs = [one.cost for one in (self, other) if one.cost is not None]
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=round(sum(costs), COST_DIGITS) if costs else None,
        )


class Replay(Part):
    """How an episode that was played again from a record compares with it.

    `recorded` counts the completions that the record holds, `served` those that were served again. `outcome` is "same",
    or the first thing that was not: the harness asked the model something else (other_request), made a tool call that
    is not recorded (other_action), asked for more than is recorded (record_ended) or for less (ended_early); or all
    that was the same and the result is not (other_result). `turn` is the completion, counted from 1, at which it
    showed; `differences` are short lines for people.
    """

    outcome: Literal["same", "other_request", "other_action", "record_ended", "ended_early", "other_result"]
    recorded: Annotated[int, Field(ge=0)]
    served: Annotated[int, Field(ge=0)]
    turn: Annotated[int, Field(ge=1)] | None = None
    differences: tuple[str, ...] = ()


class EpisodeResult(Document):
    """`wmo.episode-result/1`. Only stop_reason "submitted" is a completion; `turns` is len(steps).

    `model_fault` is null where the model did not fail. "request" is the harness's own failing, and a result like any
    other; "transient" and "endpoint" say nothing about the harness. `replay` is null unless the model was a record.
    """

    SCHEMA: ClassVar[str] = "wmo.episode-result/1"

    task_id: str
    steps: tuple[Step, ...]
    stop_reason: StopReason
    model_fault: ModelFault | None = None
    answer: str
    turns: int
    note: str = ""
    usage: Usage = Usage()
    timings: dict[str, float] = Field(default_factory=dict)
    replay: Replay | None = None
