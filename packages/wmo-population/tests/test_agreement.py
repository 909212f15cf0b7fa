"""Agreement of two scorings, and whether a gain carries over: cases whose answer is known without the code."""

import pytest
from wmo_contracts.agreement import Confusion
from wmo_contracts.score import ScoreCell, ScoreDocument, ScoreReport, ScoreRequest
from wmo_population.agreement import compare


def scored(**rewards):
    """Give a scoring from the rewards of each task's attempts, such as a=[1, 0.5]."""
    attempts = len(next(iter(rewards.values())))
    cells = tuple(
        ScoreCell(task_id=task, attempt=n, reward=float(reward), passed=reward == 1, artifact_dir="")
        for task, found in sorted(rewards.items())
        for n, reward in enumerate(found, 1)
    )
    report = ScoreReport(doc_hash="h", request=ScoreRequest(task_ids=tuple(rewards), attempts=attempts), cells=cells)
    return ScoreDocument(
        candidate_id="c", score=report.score, pass_rate=report.pass_rate, simulated=False, report=report
    )


def single(bits):
    return scored(**{f"t{number:02d}": [int(bit)] for number, bit in enumerate(bits)})


def test_shared_tasks_are_compared_by_their_mean_reward():
    found = compare(
        scored(a=[1, 0], b=[0.4, 0.5], c=[1, 1], d=[0, 0], x=[1, 1]),
        scored(a=[0, 0.2], b=[0, 0], c=[0.5, 0.5], d=[1, 0.8], y=[0, 0]),
    )
    assert [(row.task_id, row.a, row.b, row.a_passes, row.b_passes) for row in found.tasks] == [
        ("a", 0.5, 0.1, True, False),
        ("b", 0.45, 0, False, False),
        ("c", 1, 0.5, True, True),
        ("d", 0, 0.9, False, True),
    ]
    assert found.confusion == Confusion(both_pass=1, only_a_passes=1, only_b_passes=1, both_fail=1)
    assert (found.agreement, found.only_a, found.only_b, found.transfer) == (0.5, ("x",), ("y",), None)
    assert (found.a.score, found.b.score, found.gap) == pytest.approx((1.95 / 4, 1.5 / 4, 0.45 / 4))
    assert found.sentence == "A and B agree on 2 of 4 shared tasks; A scores +0.1125 against B"


def test_without_a_shared_task_nothing_is_a_number():
    found = compare(scored(a=[1]), scored(b=[1]), (scored(a=[0]), scored(b=[0])))
    assert (found.agreement, found.gap, found.a.score, found.tasks) == (None, None, None, ())
    assert (found.only_a, found.only_b) == (("a",), ("b",))
    assert (found.transfer.carries_over, found.transfer.gain_b.gain) == (None, None)
    assert "share no task" in found.sentence


def test_a_scoring_agrees_with_itself():
    found = compare(single("0110"), single("0110"))
    assert (found.agreement, found.gap) == (1, 0)


@pytest.mark.parametrize(
    ("seed_a", "best_a", "seed_b", "best_b", "carries_over", "said"),
    [
        ("00000000", "11111100", "00000000", "11111100", True, "the gain carries over: +0.7500 in A, +0.7500 in B (95"),
        ("00000000", "11111100", "11000000", "11000000", False, "the gain does not carry over: +0.7500 in A, +0.0000"),
        ("00000000", "11111100", "11111100", "00000000", False, "the gain does not carry over"),
        ("00000000", "11111100", "10000000", "01000000", None, "cannot be told whether the gain carries over, B's is"),
        ("00000", "11111", "00000", "11111", None, "cannot be told"),
        ("11000000", "11000000", "00000000", "11111111", None, "there is no gain in A that could carry over"),
        ("10000000", "01100000", "00000000", "11111111", True, ", though A's is within noise"),
    ],
)
def test_a_gain_carries_over_where_it_is_surely_one_in_b(seed_a, best_a, seed_b, best_b, carries_over, said):
    found = compare(single(best_a), single(best_b), (single(seed_a), single(seed_b)))
    assert found.transfer.carries_over is carries_over
    assert said in found.sentence


def test_gains_are_on_the_tasks_that_all_four_share():
    a, b = scored(p=[1], q=[1], r=[1]), scored(p=[1], q=[1])
    found = compare(a, b, (scored(p=[0], q=[1]), scored(p=[0], r=[0])))
    assert [row.task_id for row in found.transfer.gain_a.tasks] == ["p"]
    assert [row.task_id for row in found.transfer.gain_b.tasks] == ["p"]
    assert [row.task_id for row in found.tasks] == ["p", "q"]
