"""Command line of wmo-state."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.log import Log

run_argument = click.argument("run", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))


@click.group(
    "wmo-state",
    epilog="Example: wmo-state init runs/demo --seed pi --suite suites/starter --slots 4",
)
@common_options("wmo-state")
def command() -> None:
    """Make, read and verify a run directory."""


@command.command()
@run_argument
@click.option("--seed", metavar="pi|baseline|DIR|DOC", help="The seed: ours by name, a directory, or a wmo.harness/1.")
@click.option("--suite", type=click.Path(file_okay=False, path_type=Path), help="The folder of the tasks.")
@click.option("--slots", type=click.IntRange(min=0), help="Candidates after the seed; 0 only scores the seed.")
@click.option("--attempts", type=click.IntRange(min=1), help="Attempts at each task. Default: 1.")
@click.option("--tasks", metavar="A,B", help="Only these tasks. Default: all of the suite.")
@click.option("--holdout", metavar="A,B", help="Tasks that no proposer sees; seed and best are scored on them last.")
@click.option("--reward-mode", type=click.Choice(["raw", "positive-binary"]), help="What passes. Default: raw.")
@click.option("--sandbox", type=click.Choice(["bwrap", "none"]), help="Where the agent acts. Default: bwrap.")
@click.option(
    "--env",
    type=click.Choice(["sandbox", "world-model", "replay"]),
    help="What answers the agent's tools. Default: sandbox. The others need --judge.",
)
@click.option(
    "--recorded",
    multiple=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="A run or kept scoring with real trials, for --env world-model or replay; may be repeated.",
)
@click.option("--judge", is_flag=True, help="A judge model decides, by each task's gold.toml, not the verifiers.")
@click.option("--proposer", type=click.Choice(["pi", "command"]), help="Who proposes. Default: pi.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="network|env:NAME|read:PATH|write:PATH",
    help="What the box of --proposer command opens of this machine; may be repeated. Default: nothing.",
)
@click.option(
    "--max-consecutive-rejections",
    "max_rejections",
    metavar="N|never",
    help="Buy no other proposal after N rejected ones in a row. Default: never.",
)
@click.option("--max-cost", metavar="X|never", help="Buy no other proposal once the models cost X. Default: never.")
@click.option("--max-tokens", metavar="N|never", help="The same for N tokens, of prompts and replies. Default: never.")
@click.option("--yes", is_flag=True, help="Agree to --sandbox none with a real model; recorded.")
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1)
@click.pass_obj
def init(  # noqa: PLR0917  one parameter an option
    log: Log,
    run: Path,
    seed: str | None,
    suite: Path | None,
    slots: int | None,
    attempts: int | None,
    tasks: str | None,
    holdout: str | None,
    reward_mode: str | None,
    sandbox: str | None,
    env: str | None,
    recorded: tuple[Path, ...],
    judge: bool,
    proposer: str | None,
    allowed: tuple[str, ...],
    max_rejections: str | None,
    max_cost: str | None,
    max_tokens: str | None,
    yes: bool,
    argv: tuple[str, ...],
) -> None:
    """Make a run, or check that one is what the options say, and print it (wmo.run/1).

    A new run needs --seed, --suite and --slots. On a run that is there the record wins: what is not said stays, more
    --slots extend it, a higher --max-consecutive-rejections lets it go on, another --max-cost or --max-tokens, other
    --allow and new prices are recorded, anything else that differs is exit 78.

    ARGV is the command of --proposer command. It runs in a closed box: no network, no home folder, no variable of
    yours. --allow opens what it needs and is recorded, of variables the name alone; nothing opens the run or the suite.

    Example: wmo-state init runs/demo --seed pi --suite suites/starter --slots 4

    With an agent of your own, its line ends: --proposer command --allow network --allow env:MY_KEY -- my-agent --yes
    """
    from wmo_state.asked import ask
    from wmo_state.init import run_init

    asked = ask(
        run,
        seed=seed,
        suite=suite,
        slots=slots,
        attempts=attempts,
        tasks=tasks,
        holdout=holdout,
        reward_mode=reward_mode,
        sandbox=sandbox,
        env=env,
        recorded=recorded,
        judge=judge,
        proposer=proposer,
        allowed=allowed,
        argv=argv,
        max_rejections=max_rejections,
        max_cost=max_cost,
        max_tokens=max_tokens,
        yes=yes,
    )
    run_init(run, asked, log)


@command.command()
@run_argument
@click.argument("argv", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def hold(context: click.Context, run: Path, argv: tuple[str, ...]) -> None:
    """Run COMMAND, a loop over the tools, with the run held for it from its first step to its last.

    The tools that COMMAND starts work on the run as usual; any other process gets exit 75 with our pid and host. The
    exit code is the command's. make run and invoke run hold their run by this.

    Example: wmo-state hold runs/demo -- sh -c 'wmo-propose --run runs/demo && wmo-score --run runs/demo'
    """
    from wmo_state.hold import run_hold

    context.exit(run_hold(run, argv))


@command.command("next")
@run_argument
def next_command(run: Path) -> None:
    """Print what the run does next: {"step": "score-seed" | "propose" | "score" | "score-holdout" | "done", "slot": n}.

    Example: wmo-state next runs/demo | jq -r .step
    """
    from wmo_state.show import run_next

    run_next(run)


@command.command()
@run_argument
def status(run: Path) -> None:
    """Print the run (wmo.run/1): settings, outcomes, changes against the seed, the best, what is next.

    Example: wmo-state status runs/demo | jq '.outcomes[] | [.slot, .score]'
    """
    from wmo_state.show import run_status

    run_status(run)


@command.command()
@run_argument
def verify(run: Path) -> None:
    """Read and hash everything again (wmo.run-check/1); exit 1 and the list where something does not hold.

    Example: wmo-state verify runs/demo | jq '.problems[]'
    """
    from wmo_state.show import run_verify

    run_verify(run)


@command.command()
@run_argument
def best(run: Path) -> None:
    """Print the winner (wmo.harness/1), named by its candidate id; exit 1 where nothing is scored yet.

    Example: wmo-state best runs/demo | wmo-materialize --into best/
    """
    from wmo_state.show import run_best

    run_best(run)


@command.command()
@run_argument
@click.option("--slot", type=click.IntRange(min=0), help="Which slot; 0 is the seed. Default: the best one.")
def scores(run: Path, slot: int | None) -> None:
    """Print the scores of a slot (wmo.score/1); exit 1 where it has none.

    Example: wmo-state scores runs/demo | wmo-score --agreement simulated.json -
    """
    from wmo_state.show import run_scores

    run_scores(run, slot)


main = entry(command, goes_on=lambda _: True)
