"""What a usage costs."""

import pytest
from wmo_contracts.episode import Usage
from wmo_contracts.pricing import check_prices, cost_of

USAGE = Usage(calls=2, prompt_tokens=1_000_000, completion_tokens=500_000, cached_tokens=400_000)


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        ((3.0, 15.0, 0.3), 0.6 * 3 + 0.4 * 0.3 + 0.5 * 15),
        ((3.0, 15.0, None), 3 + 0.5 * 15),
        ((0.0, 0.0, None), 0.0),
        ((None, None, None), None),
    ],
)
def test_a_price_is_for_a_million_tokens(prices, cost):
    assert cost_of(USAGE, *prices) == (cost if cost is None else pytest.approx(cost))


def test_more_cached_tokens_than_there_are_tokens_cost_no_less_than_nothing():
    assert cost_of(Usage(prompt_tokens=10, cached_tokens=99), 1.0, 1.0, 0.0) == 0


def test_usages_add_up_and_what_has_no_price_adds_nothing():
    priced, unpriced = Usage(calls=1, prompt_tokens=5, cost=0.1), Usage(calls=2, completion_tokens=7)
    assert priced.plus(unpriced) == Usage(calls=3, prompt_tokens=5, completion_tokens=7, cost=0.1)
    assert unpriced.plus(unpriced).cost is None
    assert priced.plus(priced).plus(priced).cost == 0.3
    assert priced.plus(unpriced).tokens == 12


@pytest.mark.parametrize("prices", [(1.0, None, None), (None, 1.0, None), (None, None, 1.0)])
def test_half_a_price_is_refused(prices):
    with pytest.raises(ValueError, match="price_"):
        check_prices(*prices)
