"""Do two scorings agree task by task, and does a gain in the one carry over to the other? Pure. Imports numpy."""

import math
from collections import defaultdict
from collections.abc import Iterable

from wmo_contracts.agreement import AgreementDocument, AgreementSide, Confusion, TaskAgreement, Transfer
from wmo_contracts.gain import Gain
from wmo_contracts.score import ScoreDocument, ScoreReport

from wmo_population.gain import DIGITS, FEWEST_TASKS, paired_gain

THRESHOLD = 0.5
"""The mean reward from which on a task counts as a pass."""
Pair = tuple[ScoreDocument, ScoreDocument]


def compare(a: ScoreDocument, b: ScoreDocument, baseline: Pair | None = None) -> AgreementDocument:
    """Hold scoring A against scoring B on the tasks of both; `baseline`: the seed's, under A's and B's conditions.

    A task's value is its mean reward over attempts, not its pass rate: partial rewards are what simulations miss first.
    """
    in_a, in_b = _rewards(a.report), _rewards(b.report)
    rows = tuple(_row(task, in_a[task], in_b[task]) for task in sorted(in_a.keys() & in_b.keys()))
    side_a, side_b = _side(a, (row.a for row in rows)), _side(b, (row.b for row in rows))
    passes = [(row.a_passes, row.b_passes) for row in rows]
    transfer = None if baseline is None else _transfer(a, b, baseline)
    agreement = None if not rows else round(sum(ours == theirs for ours, theirs in passes) / len(rows), DIGITS)
    gap = None if side_a.score is None or side_b.score is None else round(side_a.score - side_b.score, DIGITS)
    return AgreementDocument(
        a=side_a,
        b=side_b,
        tasks=rows,
        only_a=tuple(sorted(in_a.keys() - in_b.keys())),
        only_b=tuple(sorted(in_b.keys() - in_a.keys())),
        confusion=Confusion(
            both_pass=passes.count((True, True)),
            only_a_passes=passes.count((True, False)),
            only_b_passes=passes.count((False, True)),
            both_fail=passes.count((False, False)),
        ),
        agreement=agreement,
        gap=gap,
        transfer=transfer,
        sentence=_sentence(transfer) if transfer else _agreement_sentence(len(rows), agreement, gap),
    )


def _rewards(report: ScoreReport) -> dict[str, float]:
    """Give each task's mean reward over attempts."""
    rewards: dict[str, list[float]] = defaultdict(list)
    for cell in report.cells:
        rewards[cell.task_id].append(cell.reward)
    return {task: math.fsum(found) / len(found) for task, found in rewards.items()}


def _row(task_id: str, a: float, b: float) -> TaskAgreement:
    return TaskAgreement(task_id=task_id, a=a, b=b, a_passes=a >= THRESHOLD, b_passes=b >= THRESHOLD)


def _side(document: ScoreDocument, rewards: Iterable[float]) -> AgreementSide:
    found = list(rewards)
    return AgreementSide(
        candidate_id=document.candidate_id,
        doc_hash=document.report.doc_hash,
        simulated=document.simulated,
        score=round(math.fsum(found) / len(found), DIGITS) if found else None,
    )


def _transfer(a: ScoreDocument, b: ScoreDocument, baseline: Pair) -> Transfer:
    seed_a, seed_b = baseline
    documents = (a, b, seed_a, seed_b)
    shared = set.intersection(*(set(document.report.request.task_ids) for document in documents))
    gain_a, gain_b = paired_gain(seed_a.report, a.report, shared), paired_gain(seed_b.report, b.report, shared)
    return Transfer(gain_a=gain_a, gain_b=gain_b, carries_over=_carries_over(gain_a, gain_b))


def _carries_over(gain_a: Gain, gain_b: Gain) -> bool | None:
    """Say whether a gain in A is one in B. None: A gained nothing, too few tasks are shared, or noise hides it."""
    if not gain_a.gain or gain_a.gain < 0 or gain_b.low is None or gain_b.high is None:
        return None
    if len(gain_b.tasks) < FEWEST_TASKS:
        return None
    if gain_b.low > 0:
        return True
    return False if gain_b.high <= 0 else None


def _sentence(transfer: Transfer) -> str:
    gain_a, gain_b = transfer.gain_a, transfer.gain_b
    if gain_a.gain is None or gain_b.gain is None:
        return "it cannot be told whether the gain carries over: the four scorings share no task"
    if gain_a.gain <= 0:
        return f"there is no gain in A that could carry over: {_numbers(gain_a, gain_b)}"
    numbers = _numbers(gain_a, gain_b)
    if transfer.carries_over is None:
        return f"it cannot be told whether the gain carries over, B's is within noise: {numbers}"
    if not transfer.carries_over:
        return f"the gain does not carry over: {numbers}"
    return f"the gain carries over: {numbers}" + (", though A's is within noise" if gain_a.within_noise else "")


def _numbers(gain_a: Gain, gain_b: Gain) -> str:
    tasks = f"{len(gain_b.tasks)} task{'s' if len(gain_b.tasks) > 1 else ''}"
    interval = f"95 % interval {gain_b.low:+.4f} to {gain_b.high:+.4f}, {tasks}"
    return f"{gain_a.gain:+.4f} in A, {gain_b.gain:+.4f} in B ({interval})"


def _agreement_sentence(tasks: int, agreement: float | None, gap: float | None) -> str:
    if agreement is None or gap is None:
        return "A and B share no task, so nothing can be said of their agreement"
    return f"A and B agree on {round(agreement * tasks)} of {tasks} shared tasks; A scores {gap:+.4f} against B"
