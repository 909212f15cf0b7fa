"""`wmo.agreement/1`: two scorings of one harness held against each other, such as in simulation and for real."""

from typing import ClassVar

from wmo_contracts.base import Document, Part
from wmo_contracts.gain import Gain


class AgreementSide(Part):
    """One of the two scorings. `score` is the mean over shared tasks of the task's mean reward; None without any."""

    candidate_id: str
    doc_hash: str
    simulated: bool
    score: float | None


class TaskAgreement(Part):
    """One shared task: its mean reward over attempts in A and in B, 0 to 1; from 0.5 on it counts as a pass."""

    task_id: str
    a: float
    b: float
    a_passes: bool
    b_passes: bool


class Confusion(Part):
    """Shared tasks by whether they pass in A and in B."""

    both_pass: int
    only_a_passes: int
    only_b_passes: int
    both_fail: int


class Transfer(Part):
    """The gain over the baseline in A and in B, by pass rates, on the tasks that all four scorings share.

    `carries_over`: B's gain is surely above 0 (true), surely not above it (false), or it cannot be told (null).
    """

    gain_a: Gain
    gain_b: Gain
    carries_over: bool | None


class AgreementDocument(Document):
    """`wmo.agreement/1`: what wmo-score --agreement prints. All of it is on the shared tasks only.

    `agreement` is the share of them that pass in both or in neither, `gap` is A's score less B's; both are None without
    a shared task. `transfer` is None without a baseline. `sentence` says the result for people.
    """

    SCHEMA: ClassVar[str] = "wmo.agreement/1"

    a: AgreementSide
    b: AgreementSide
    tasks: tuple[TaskAgreement, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    confusion: Confusion
    agreement: float | None
    gap: float | None
    transfer: Transfer | None
    sentence: str
