"""A run's budget and the prices that it needs, as asked on the command line and in the configuration. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wmo_contracts.run import EndpointSettings, ModelSettings, RunSettings
from wmo_kit.errors import Conflict, Usage

NO_PRICES: Mapping[str, None] = {"price_in": None, "price_out": None, "price_cached": None}


@dataclass(frozen=True)
class Budget:
    """The limits as asked: None is not said."""

    max_cost: float | Literal["never"] | None = None
    max_tokens: int | Literal["never"] | None = None

    def over(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Give the limits to record: what is said wins over the `recorded`, in either direction."""
        said = {"max_cost": self.max_cost, "max_tokens": self.max_tokens}
        return {
            name: recorded.get(name) if value is None else None if value == "never" else value
            for name, value in said.items()
        }


def read_budget(max_cost: str | None, max_tokens: str | None) -> Budget:
    """Read the options. Raises Usage for what is neither a number above 0 nor "never"."""
    return Budget(None if max_cost is None else _cost(max_cost), None if max_tokens is None else _tokens(max_tokens))


def check_prices_known(settings: RunSettings) -> None:
    """Raise Conflict for a limit of cost where it is not known what a model costs."""
    if settings.max_cost is None:
        return
    models = {"worker": settings.worker, "proposer": settings.proposer_model}
    if settings.proposer.kind != "pi":
        del models["proposer"]
    if settings.world is not None:
        models["world"] = settings.world
    if settings.judge is not None:
        models["judge"] = settings.judge
    for role, model in models.items():
        for one in model.endpoints:
            if not one.priced:
                raise Conflict(f"--max-cost: model '{one.model}' at '{one.base_url}' has no price: give the {role} "
                               "price_in and price_out in wmo.toml, or limit the run by --max-tokens")  # fmt: skip
    if all(one.price_in is None for model in models.values() for one in model.endpoints):
        raise Conflict("--max-cost: no model of the run costs anything: limit the run by --max-tokens")


def without_prices(model: ModelSettings) -> ModelSettings:
    """Give the model alone: prices may change while it stays the same."""
    fallbacks = tuple(one.model_copy(update=NO_PRICES) for one in model.fallbacks)
    return model.model_copy(update={**NO_PRICES, "fallbacks": fallbacks})


def with_new_prices(recorded: ModelSettings, asked: ModelSettings) -> ModelSettings:
    """Give the recorded model, with the asked prices where it is the same one and the configuration has prices."""
    if without_prices(recorded) != without_prices(asked):
        return recorded
    return asked if any(_has_price(one) for one in asked.endpoints) else recorded


def _has_price(endpoint: EndpointSettings) -> bool:
    return endpoint.price_in is not None


def _cost(text: str) -> float | Literal["never"]:
    if text == "never":
        return "never"
    try:
        cost = float(text)
    except ValueError:
        cost = 0.0
    if not (math.isfinite(cost) and cost > 0):
        raise Usage(f"bad --max-cost '{text}': give a number above 0, or 'never'")
    return cost


def _tokens(text: str) -> int | Literal["never"]:
    if text == "never":
        return "never"
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise Usage(f"bad --max-tokens '{text}': give a number of 1 or more, or 'never'")
