"""Command line of wmo-propose."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.log import Log

EXAMPLE = """\b
Examples:
  wmo-propose --run runs/demo && wmo-score --run runs/demo
  wmo-state init runs/own --seed pi --suite suites/starter --slots 4 \\
    --proposer command --allow network --allow env:ANTHROPIC_API_KEY \\
    -- claude -p "Do what REQUEST.md asks." --allowedTools "Bash,Read,Edit,Write"
  wmo-score --run runs/own && wmo-propose --run runs/own
"""


@click.command("wmo-propose", epilog=EXAMPLE)
@click.option(
    "--run", "run_dir", required=True, type=click.Path(path_type=Path), help="The run whose next slot needs a proposal."
)
@click.option(
    "--proposer",
    type=click.Choice(["pi", "command"]),
    help="Hold this against the run's record, which decides who proposes.",
)
@click.option("--vendor", type=click.Path(path_type=Path), help="The vendor directory.")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@common_options("wmo-propose")
@click.pass_obj
def propose(log: Log, /, run_dir: Path, proposer: str | None, vendor: Path | None, argv: tuple[str, ...]) -> None:
    """Ask a coding agent for the next slot's candidate, and check what it hands in.

    A valid candidate is checkpointed in the run and printed as wmo.candidate/1; wmo-score --run scores it. Anything
    else consumes the slot: the rejection is recorded with every reason and printed as wmo.rejection/1, exit code 1.
    What the agent saw and did is kept in the run's proposals/slot-NNNN/. Exit 75 where the agent's model failed:
    nothing is consumed, the same command goes on.
    """
    from wmo_propose.work import run

    run(log, run_dir, vendor=vendor, proposer=proposer, argv=argv)


main = entry(propose, goes_on=lambda _: True)
