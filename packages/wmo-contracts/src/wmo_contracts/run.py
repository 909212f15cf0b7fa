"""The run directory's own files (the reference's format) and `wmo.run/1`, the view of a run."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from wmo_contracts.base import Document, Part
from wmo_contracts.episode import EnvironmentKind, SandboxMode, Usage
from wmo_contracts.gain import HoldoutView
from wmo_contracts.pricing import Price
from wmo_contracts.score import RewardMode, ScoreRequest

Slot = Annotated[int, Field(ge=0)]


class ScoredEntry(Part):
    """state.json entry of a scored slot."""

    kind: Literal["scored"] = "scored"
    slot: Slot
    candidate_id: str
    score: Annotated[float, Field(ge=0, le=1)]
    doc_hash: str
    evidence_dir: str


class InvalidEntry(Part):
    """state.json entry of a slot whose proposal was rejected."""

    kind: Literal["invalid"] = "invalid"
    slot: Slot
    candidate_id: str
    reason: str
    evidence_dir: str


StateEntry = Annotated[ScoredEntry | InvalidEntry, Field(discriminator="kind")]


class StateFile(Part):
    """state.json: the ordered index of boundaries, committed last."""

    outcomes: tuple[StateEntry, ...]


class ProposalFile(Part):
    """proposal.json of an accepted candidate."""

    candidate_id: str
    doc_hash: str
    tree_hash: str
    evidence_dir: str


class PendingFile(Part):
    """pending.json: an accepted candidate that is not scored yet."""

    candidate_id: str
    doc_hash: str
    tree_hash: str


class ErrorFile(Part):
    """error.json of a rejected slot."""

    candidate_id: str
    reason: str
    evidence_dir: str


class TurnStatus(Part):
    """status.json of a proposer's turn. `tree_hash` names source/ beside it; "" where there is none."""

    status: Literal["accepted", "rejected"]
    summary: str
    stop_reason: str
    reasons: tuple[str, ...]
    tree_hash: str


class ProposerSettings(Part):
    """Who proposes: the vendored pi, or any command (`argv`).

    `allow` is what the command's box opens of the host, nothing by default: "network", "env:NAME" (never a value),
    "read:PATH", "write:PATH".
    """

    kind: Literal["pi", "command"] = "pi"
    argv: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


class EndpointSettings(Part):
    """An endpoint as recorded in a run: never the key, only the name of the variable that holds it.

    Prices are for a million tokens; None where the endpoint has none.
    """

    base_url: str
    model: str
    api_key_env: str
    price_in: Price = None
    price_out: Price = None
    price_cached: Price = None

    @property
    def priced(self) -> bool:
        """True where it is known what this endpoint costs; the offline model costs nothing."""
        return self.price_in is not None or self.simulated

    @property
    def simulated(self) -> bool:
        """True for the offline model, started by a tool itself ("offline") or by the user (known by its name)."""
        return self.base_url == "offline" or self.model.startswith("offline-")


class ModelSettings(EndpointSettings):
    """A role's model as recorded in a run: its first endpoint, and those that stand in for it, in order."""

    fallbacks: tuple[EndpointSettings, ...] = ()

    @property
    def endpoints(self) -> tuple[EndpointSettings, ...]:
        """All endpoints, in the order in which they are asked."""
        return (self, *self.fallbacks)


class RunSettings(Part):
    """The frozen configuration of a run. `suite` is relative to the run's own folder; `seed` is what the user named.

    `max_consecutive_rejections`: after so many rejected proposals in a row no other is bought; None is no limit.
    `max_cost` and `max_tokens`: what the models of the whole run may use before no other proposal is bought.
    `environment` is what trials act in; `recorded` and `recorded_hash` are where its recorded trials are (relative to
    the run's own folder, as `suite`) and what they were. `world` is the model that plays a world-model environment,
    `judge` the one that gives verdicts; None where a real workspace and the tasks' verifiers do. `holdout`: tasks that
    no proposer sees; seed and best are scored on them after the last slot. `consent`: the user agreed to do without a
    sandbox though a model is real.
    """

    seed: str
    seed_tree_hash: str
    seed_doc_hash: str
    suite: str
    request: ScoreRequest
    iterations: Annotated[int, Field(ge=0)]
    reward_mode: RewardMode = "raw"
    sandbox: SandboxMode = "bwrap"
    proposer: ProposerSettings = ProposerSettings()
    worker: ModelSettings
    proposer_model: ModelSettings
    max_consecutive_rejections: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(gt=0)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    environment: EnvironmentKind = "sandbox"
    recorded: tuple[str, ...] = ()
    recorded_hash: str = ""
    world: ModelSettings | None = None
    judge: ModelSettings | None = None
    holdout: tuple[str, ...] = ()
    consent: bool = False

    @property
    def trusts_models(self) -> bool:
        """True where what a real model writes is run on this machine with nothing around it."""
        proposers = (self.proposer_model,) if self.proposer.kind == "pi" and self.iterations > 0 else ()
        return self.sandbox == "none" and not all(model.simulated for model in (self.worker, *proposers))

    @property
    def simulated(self) -> bool:
        """True where the offline model plays the worker, its world or its judge: the scores are a simulation."""
        return any(model.simulated for model in (self.worker, self.world, self.judge) if model is not None)


def settings_hash(settings: Mapping[str, Any]) -> str:
    """Give the BLAKE2b-16 hex of a run's settings as they are written: run.json holds it, so that an edit is found."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class NextStep(Part):
    """What the loop does next; `slot` is the slot that the step works on (for "done": the last one).

    "score-holdout" comes after the last slot in a run with held-out tasks, once for the seed and once for the best.
    """

    step: Literal["score-seed", "propose", "score", "score-holdout", "done"]
    slot: Slot


class Spending(Part):
    """What the models used, each role apart (`worker`: the agents under test), and for how long they worked.

    It is the sum over finished trials and over turns, cut ones too; a proposer that is a command tells no usage.
    """

    worker: Usage = Usage()
    proposer: Usage = Usage()
    world: Usage = Usage()
    judge: Usage = Usage()
    timings: dict[str, float] = Field(default_factory=dict)

    @property
    def total(self) -> Usage:
        """All together."""
        return self.worker.plus(self.proposer).plus(self.world).plus(self.judge)


class OutcomeView(Part):
    """One consumed slot for people and reports: the state entry, what changed against the seed, what it took."""

    slot: Slot
    candidate_id: str
    kind: Literal["scored", "invalid"]
    score: float | None = None
    change: float | None = None
    changed_files: tuple[str, ...] = ()
    summary: str = ""
    note: str = ""
    spent: Spending | None = None


class BestView(Part):
    """The best candidate so far: maximum score, the earliest wins ties."""

    candidate_id: str
    slot: Slot
    score: float


class RunDocument(Document):
    """`wmo.run/1`: what wmo-state prints, and (with the settings and their hash alone) a run's run.json.

    `settings` is None for a run of the reference, which records none. `settings_hash` is checked where present.
    `spent` is what the whole run took so far, the slot in hand included. `holdout` is None where no task is held out.
    """

    SCHEMA: ClassVar[str] = "wmo.run/1"

    settings: RunSettings | None
    settings_hash: str | None = None
    run_dir: str = ""
    next: NextStep | None = None
    outcomes: tuple[OutcomeView, ...] = ()
    best: BestView | None = None
    completed: bool = False
    simulated: bool = False
    spent: Spending | None = None
    holdout: HoldoutView | None = None


class RunProblem(Part):
    """Something in a run that does not hold. `slot` is None where it concerns no one slot."""

    slot: Slot | None
    problem: str


class RunCheckDocument(Document):
    """`wmo.run-check/1`: what `wmo-state verify` found; `slots` is the number of consumed slots that it read.

    `unchecked` says what nothing in the run speaks for: it may have been changed, and no one can tell.
    """

    SCHEMA: ClassVar[str] = "wmo.run-check/1"

    run_dir: str
    ok: bool
    slots: int
    problems: tuple[RunProblem, ...]
    unchecked: tuple[str, ...] = ()
