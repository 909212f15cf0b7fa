"""A run's budget: what its models may use before no other proposal is bought. Pure."""

from pathlib import Path

from wmo_contracts.run import RunSettings, Spending

ROLES = ("worker", "proposer", "world", "judge")
TURN_CALLS = 60
TURN_OUTPUT_TOKENS = 16_384
"""Both are design 6's for one turn of the proposer `pi`."""


def reached(settings: RunSettings, spent: Spending) -> str:
    """Say which limit is reached, with the sum; "" where none is."""
    total = spent.total
    roles = [role for role in ROLES if role in ("worker", "proposer") or getattr(spent, role).calls]
    if settings.max_cost is not None and (total.cost or 0.0) >= settings.max_cost:
        parts = ", ".join(f"{role} {getattr(spent, role).cost or 0:.6f}" for role in roles)
        return f"cost {total.cost or 0:.6f} of {settings.max_cost:g} ({parts})"
    if settings.max_tokens is not None and total.tokens >= settings.max_tokens:
        parts = ", ".join(f"{role} {getattr(spent, role).tokens}" for role in roles)
        return f"{total.tokens} of {settings.max_tokens} tokens ({parts})"
    return ""


def unknown(settings: RunSettings, spent: Spending) -> str:
    """Say whose usage no budget can count, for its endpoint reports no tokens; "" where all is counted."""
    if settings.max_cost is None and settings.max_tokens is None:
        return ""
    return next((role for role in ROLES if (used := getattr(spent, role)).calls and not used.tokens), "")


def raise_it(settings: RunSettings, run_dir: Path) -> str:
    """Give the command that raises a run's limits."""
    limits = (("max-cost", settings.max_cost), ("max-tokens", settings.max_tokens))
    names = [name for name, limit in limits if limit]
    options, in_make = (" ".join(f"--{name} N" for name in names), " ".join(f"{_in_make(name)}=N" for name in names))
    return f"'wmo-state init {run_dir} {options}' (a number, or never; make: {in_make})"


def _in_make(option: str) -> str:
    return option.upper().replace("-", "_")
