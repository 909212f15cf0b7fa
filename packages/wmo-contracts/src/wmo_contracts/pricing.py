"""What an endpoint asks for tokens, and the cost of a usage."""

from typing import Annotated

from pydantic import Field

from wmo_contracts.episode import COST_DIGITS, Usage

PER = 1_000_000
"""Prices are for so many tokens."""
Price = Annotated[float, Field(ge=0)] | None


def check_prices(price_in: float | None, price_out: float | None, price_cached: float | None) -> None:
    """Raise ValueError for prices that are half given."""
    if (price_in is None) != (price_out is None):
        raise ValueError("price_in and price_out belong together: give both, or neither")
    if price_in is None and price_cached is not None:
        raise ValueError("price_cached needs price_in and price_out")


def cost_of(
    usage: Usage, price_in: float | None, price_out: float | None, price_cached: float | None = None
) -> float | None:
    """Give the cost of `usage` at prices for a million tokens; None without a price.

    Without a price of their own, cached tokens cost as much as others.
    """
    if price_in is None or price_out is None:
        return None
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    at_cached = price_in if price_cached is None else price_cached
    millions = (usage.prompt_tokens - cached) * price_in + cached * at_cached + usage.completion_tokens * price_out
    return round(millions / PER, COST_DIGITS)
