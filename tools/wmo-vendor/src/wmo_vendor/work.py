"""What wmo-vendor's commands do."""

from pathlib import Path

from wmo_harness.documents import to_document
from wmo_harness.pi_agent import check_pi_agent, find_vendor_dir, problems
from wmo_harness.seeds import named_seed
from wmo_kit.config import load_config
from wmo_kit.documents import emit
from wmo_kit.errors import Negative
from wmo_kit.log import Log


def run_install(vendor: Path | None, log: Log) -> None:
    """Install into the vendor directory and print the manifest check. Raises what install raises."""
    from wmo_vendor.install import install  # needs node's wheel, which the other commands do not

    emit(install(_vendor_dir(vendor), log))


def run_tree(vendor: Path | None, seed: str) -> None:
    """Print the seed harness named `seed`. Raises Missing, Negative."""
    emit(to_document(named_seed(seed, load_config(flags={"vendor": vendor}).vendor), seed))


def run_check(vendor: Path | None) -> None:
    """Print the manifest check. Raises Negative after it where a file is not ok."""
    check = check_pi_agent(_vendor_dir(vendor))
    emit(check)
    if not check.ok:
        raise Negative(f"the vendored pi is not upstream's: {problems(check)}")


def _vendor_dir(flag: Path | None) -> Path:
    return find_vendor_dir(load_config(flags={"vendor": flag}).vendor, Path.cwd())
