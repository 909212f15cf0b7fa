"""Command line of wmo-materialize."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry


@click.command(
    "wmo-materialize",
    epilog="Example: wmo-vendor tree | wmo-materialize --into /tmp/pi",
)
@common_options("wmo-materialize")
@click.argument("document", metavar="[DOC|-]", default="-")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Make DIR hold exactly the document's files; what it held before is removed.",
)
@click.option(
    "--snapshot",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The other way round: print DIR as a wmo.harness/1 document.",
)
@click.option("--name", help="The snapshot's name. Default: the directory's.")
def command(document: str, into: Path | None, snapshot: Path | None, name: str | None) -> None:
    """Write a wmo.harness/1 document's files into a directory, byte for byte, and print wmo.materialized/1.

    DOC is a file or '-' for standard input, the default.
    """
    if (into is None) == (snapshot is None):
        raise click.UsageError("give either --into DIR or --snapshot DIR")
    if snapshot is None and name is not None:
        raise click.UsageError("--name goes with --snapshot: a document has its own name")
    if snapshot is not None and document != "-":
        raise click.UsageError("--snapshot takes no document")
    from wmo_materialize.work import run_snapshot, run_write

    if snapshot is not None:
        run_snapshot(snapshot, name)
    elif into is not None:
        run_write(document, into)


main = entry(command)
