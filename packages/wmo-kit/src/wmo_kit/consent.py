"""A person's yes before something is done that cannot be undone: asked on a terminal, said with --yes elsewhere."""

import sys

import click

from wmo_kit.errors import Negative, Usage

NO_SANDBOX = (
    "with '--sandbox none' whatever a real model writes (commands, code) runs as you, with your files and your network"
)


def require_consent(what: str, *, yes: bool) -> None:
    """Return where `yes` was said, or is said now. `what` says what happens.

    Raises Usage where nobody can be asked, Negative for a no.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Usage(f"{what}: if you want that, add '--yes' (make run: YES=1)")
    if not click.confirm(f"{what}. Go on?", err=True):
        raise Negative("nothing was done")
