"""Gains and their intervals: cases whose answer is known without the code."""

import subprocess
import sys

import pytest
from wmo_contracts.score import ScoreCell, ScoreReport, ScoreRequest
from wmo_population.gain import paired_gain


def report(**passed):
    """Give a report from the attempts at each task, such as a="110"."""
    attempts = len(next(iter(passed.values())))
    cells = tuple(
        ScoreCell(task_id=task, attempt=n, reward=float(bit), passed=bit == "1", artifact_dir="")
        for task, bits in sorted(passed.items())
        for n, bit in enumerate(bits, 1)
    )
    return ScoreReport(doc_hash="", request=ScoreRequest(task_ids=tuple(passed), attempts=attempts), cells=cells)


def of(*bits):
    return report(**{f"t{number:03d}": one for number, one in enumerate(bits)})


def test_the_gain_is_the_mean_difference_of_pass_rates():
    gain = paired_gain(of("100", "000"), of("110", "111"))
    assert (gain.seed, gain.best, gain.gain) == pytest.approx((1 / 6, 5 / 6, 4 / 6))
    assert [(row.task_id, row.seed, row.best) for row in gain.tasks] == [("t000", 1 / 3, 2 / 3), ("t001", 0, 1)]


def test_the_interval_of_single_attempts_is_the_bootstrap_of_tasks():
    # 4 of 16 tasks gain 1: a resample gains Binomial(16, 1/4) / 16, whose 2.5 and 97.5 % points are 1/16 and 8/16
    gain = paired_gain(of(*["0"] * 16), of(*["1"] * 4, *["0"] * 12))
    assert (gain.gain, gain.low, gain.high, gain.within_noise) == (0.25, 1 / 16, 8 / 16, False)


def test_attempts_are_drawn_again_too():
    # one and the same task 40 times: tasks alone have no variance, so all of the interval's width is of the attempts
    gain = paired_gain(of(*["10"] * 40), of(*["10"] * 40))
    width = 1.96 * (2 * 0.25 / 2 / 40) ** 0.5
    assert gain.low == pytest.approx(-width, abs=0.02)
    assert gain.high == pytest.approx(width, abs=0.02)
    assert (gain.gain, gain.within_noise) == (0, True)


def test_pairs_are_drawn_together():
    # drawn apart, the two would differ by chance; in pairs no resample has a difference
    gain = paired_gain(of(*["0"] * 6, *["1"] * 6), of(*["0"] * 6, *["1"] * 6))
    assert (gain.low, gain.high) == (0, 0)


def test_it_is_deterministic_and_the_other_way_round_it_is_a_loss():
    seed, best = of(*["100"] * 10, *["000"] * 10), of(*["110"] * 10, *["010"] * 10)
    there, back = paired_gain(seed, best), paired_gain(best, seed)
    assert there == paired_gain(seed, best)
    assert back.gain == -there.gain
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=0.03)
    assert there.within_noise is back.within_noise is False


@pytest.mark.parametrize(("tasks", "noise"), [(1, True), (5, True), (6, False), (7, False)])
def test_below_six_tasks_nothing_can_be_told(tasks, noise):
    assert paired_gain(of(*["0"] * tasks), of(*["1"] * tasks)).within_noise is noise


def test_no_difference_is_within_noise():
    gain = paired_gain(of(*["011"] * 9), of(*["011"] * 9))
    assert (gain.gain, gain.within_noise) == (0, True)


def test_only_shared_tasks_count_and_none_is_no_number():
    seed, best = report(a="0", b="0", c="1"), report(b="1", c="1", d="1")
    assert [row.task_id for row in paired_gain(seed, best).tasks] == ["b", "c"]
    assert [row.task_id for row in paired_gain(seed, best, tasks={"c", "d"}).tasks] == ["c"]
    empty = paired_gain(report(a="0"), report(b="1"))
    assert (empty.gain, empty.low, empty.seed, empty.within_noise, empty.tasks) == (None, None, None, True, ())


def test_many_tasks_are_drawn_in_batches():
    gain = paired_gain(of(*["0"] * 1500), of(*["1"] * 300, *["0"] * 1200))
    assert gain.low < 0.2 < gain.high
    assert gain.high - gain.low == pytest.approx(2 * 1.96 * (0.2 * 0.8 / 1500) ** 0.5, abs=0.003)


def test_reading_a_run_loads_no_numpy():
    code = "import sys, wmo_population, wmo_population.view, wmo_population.recorded; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
