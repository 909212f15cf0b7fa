"""What is still to be paid for, said before it is (`wmo.plan/1`)."""

from typing import Annotated, ClassVar

from pydantic import Field

from wmo_contracts.base import Document, Part
from wmo_contracts.episode import Usage
from wmo_contracts.run import Spending

Count = Annotated[int, Field(ge=0)]


class WorstCase(Part):
    """The most that a model can be asked for. `prompt_tokens` is None where no context window is configured.

    `cost` is None where no price or no context window is.
    """

    calls: Count
    prompt_tokens: Count | None
    completion_tokens: Count
    cost: float | None


class RolePlan(Part):
    """What a role's model will do: `jobs` trials, or turns of the proposer. `estimate` is None before the first one.

    `cost_unknown` says what is missing to give a cost, "" where nothing is.
    """

    jobs: Count
    worst_case: WorstCase
    estimate: Usage | None = None
    cost_unknown: str = ""


class PlanDocument(Document):
    """`wmo.plan/1`: what `wmo-score --dry-run` prints; nothing is asked of a model for it.

    `proposer` is None where no model of ours proposes, `world` and `judge` where no model plays that role, `spent`
    outside a run. `total` is the worst case of all together. `slots` are those still to be proposed for; candidates to
    come are taken to have the limits of the harness in hand.
    """

    SCHEMA: ClassVar[str] = "wmo.plan/1"

    slots: Count
    worker: RolePlan
    proposer: RolePlan | None = None
    world: RolePlan | None = None
    judge: RolePlan | None = None
    total: WorstCase | None = None
    spent: Spending | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    warnings: tuple[str, ...] = ()
