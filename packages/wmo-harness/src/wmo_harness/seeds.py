"""The seed harnesses that come with the project, by name."""

from pathlib import Path

from wmo_harness.baseline import BASELINE_NAME, baseline_tree
from wmo_harness.pi_agent import SEED_NAME, find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree

SEEDS = (SEED_NAME, BASELINE_NAME)


def named_seed(name: str, vendor: Path | None) -> SourceTree:
    """Give one of SEEDS. `vendor` is the configured vendor directory, which only pi needs (find_vendor_dir).

    Raises KeyError for another name, Missing and Negative where the vendored pi is not there or not upstream's.
    """
    if name == BASELINE_NAME:
        return baseline_tree()
    if name == SEED_NAME:
        return seed_tree(find_vendor_dir(vendor, Path()))
    raise KeyError(name)
