"""Command line of wmo-vendor."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.log import Log

vendor_option = click.option(
    "--vendor",
    type=click.Path(file_okay=False, path_type=Path),
    help="The vendor directory. Default: WMO_VENDOR, wmo.toml, or vendor/ here or above.",
)


@click.group(
    "wmo-vendor",
    epilog="Example: wmo-vendor tree | wmo-materialize --into /tmp/pi",
)
@common_options("wmo-vendor")
def command() -> None:
    """Install, check and print the vendored pi."""


@command.command()
@vendor_option
@click.pass_obj
def install(log: Log, vendor: Path | None) -> None:
    """Install pi from its npm package, bundle what it imports, and check every byte (wmo.manifest-check/1).

    Example: wmo-vendor install
    """
    from wmo_vendor.work import run_install

    run_install(vendor, log)


@command.command()
@vendor_option
@click.option(
    "--seed",
    type=click.Choice(["pi", "baseline"]),
    default="pi",
    show_default=True,
    help="The vendored pi, or a small harness without source of its own.",
)
def tree(vendor: Path | None, seed: str) -> None:
    """Print a seed harness (wmo.harness/1).

    Example: wmo-vendor tree | jq -r '.files[].path'
    """
    from wmo_vendor.work import run_tree

    run_tree(vendor, seed)


@command.command()
@vendor_option
def check(vendor: Path | None) -> None:
    """Compare the vendored pi with its manifest (wmo.manifest-check/1); exit 1 where a file differs.

    Example: wmo-vendor check | jq '.files[] | select(.status != "ok")'
    """
    from wmo_vendor.work import run_check

    run_check(vendor)


main = entry(command, goes_on=lambda _: True)
