"""Command line of wmo-score."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.errors import Usage
from wmo_kit.log import Log

EXAMPLE = """\b
Examples:
  wmo-vendor tree | wmo-score - --suite suites/starter --task NAME | jq .score
  wmo-score --suite suites/starter --agent oracle --jobs 4
  wmo-score harness.json --suite suites/starter --keep kept -o report.json
  wmo-score edited.json --suite suites/starter --env world-model --recorded kept --judge
  wmo-score --run runs/demo
  wmo-state best runs/demo | wmo-score - --as runs/demo --env world-model --judge --recorded runs/demo
  wmo-score --agreement simulated.json real.json --baseline seed-simulated.json seed-real.json
"""


@click.command("wmo-score", epilog=EXAMPLE)
@click.argument("harness", required=False)
@click.option("--run", "run_dir", type=click.Path(path_type=Path), help="Score what is due in this run and commit it.")
@click.option(
    "--as",
    "as_run",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="Score HARNESS as this run scores: its tasks, attempts and models, as recorded.",
)
@click.option("--suite", type=click.Path(path_type=Path), help="The folder of tasks.")
@click.option("--task", "tasks", multiple=True, metavar="NAME", help="Only this task; may be repeated.")
@click.option("--attempts", type=click.IntRange(min=1), help="Attempts at each task.  [default: 1]")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Trials at a time.  [default: twice the processors, at most 8]"
)
@click.option("--agent", type=click.Choice(["harness", "oracle", "nop"]), help="Who works.  [default: harness]")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where the document goes.  [default: stdout]")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep source and trials here; finished cells stay.")
@click.option("--sandbox", type=click.Choice(["bwrap", "none"]), help="How tools are confined.  [default: bwrap]")
@click.option("--reward-mode", type=click.Choice(["raw", "positive-binary"]), help="What passes.  [default: raw]")
@click.option(
    "--env",
    type=click.Choice(["sandbox", "world-model", "replay"]),
    help="What answers the agent's tools.  [default: sandbox]",
)
@click.option(
    "--recorded",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A run or a kept scoring, whose real trials a world model takes examples from and a replay its answers.",
)
@click.option(
    "--leave-own-out",
    is_flag=True,
    help="With --env world-model: trials that HARNESS itself played are no examples, as make transfer scores.",
)
@click.option("--judge", is_flag=True, help="A judge model decides, by each task's gold.toml.")
@click.option("--agreement", nargs=2, metavar="A B", help="Hold two scorings against each other; score nothing.")
@click.option("--baseline", nargs=2, metavar="A0 B0", help="With --agreement: the seed's two, to see what is gained.")
@click.option("--dry-run", is_flag=True, help="Print what would be paid for (wmo.plan/1), and ask no model.")
@click.option("--yes", is_flag=True, help="Agree to --sandbox none with a real model.")
@click.option("--vendor", type=click.Path(path_type=Path), help="The vendor directory.")
@common_options("wmo-score")
@click.pass_obj
def score(
    log: Log,
    /,
    *,
    harness: str | None,
    run_dir: Path | None,
    output: str,
    dry_run: bool,
    agreement: tuple[str, str] | None,
    baseline: tuple[str, str] | None,
    **flags: object,
) -> None:
    """Score HARNESS (a wmo.harness/1 document, - for stdin) on a suite of tasks; print wmo.score/1.

    Every task is attempted by the harness's agent in a fresh sandbox and graded by the task's verifier. --agent oracle
    runs the tasks' own solutions and --agent nop does nothing: a healthy suite gives 1.0 and 0.0.

    With --judge the model of the role judge decides instead of the verifier, by the assertions in the task's gold.toml
    and what the agent did and answered; tests/test.sh is not run.

    With --env world-model a model (role world) plays the workspace, and with --env replay recorded episodes answer.
    Neither has a workspace for a verifier, so both need --judge.

    With --run, what is due in a run is scored under the run's recorded settings: finished trials are kept, only missing
    ones run, and the boundary is committed. Exit 75 where a verifier gave no reward or the model failed.

    With --as, HARNESS is scored outside the run, under the suite, tasks, attempts, reward mode, sandbox and worker that
    the run records, whatever models are configured now; so are its judge and its world where it has them. --env,
    --recorded, --judge and --keep are yours to say. Tasks that changed since the run scored its seed are exit 78.

    With --dry-run nothing is scored: trials, worst case and, by what earlier trials used, an estimate are printed, with
    a warning where the run's budget cannot finish its slots.

    With --agreement nothing is scored either: A and B are wmo.score/1 documents, such as one harness's in simulation
    and for real. Printed is wmo.agreement/1: on their shared tasks, where they agree, and with --baseline whether the
    gain over the seed in A carries over to B.
    """
    from wmo_kit.documents import emit

    from wmo_score.options import from_flags

    options = from_flags(flags)
    if agreement is not None:
        if harness is not None or run_dir is not None or dry_run or options != from_flags({}):
            raise Usage("'--agreement' takes two scorings that are there: leave out whatever is for scoring")
        from wmo_score.agreement import agree

        emit(agree(log, agreement, baseline), output)
    elif baseline is not None:
        raise Usage("'--baseline' goes with '--agreement'")
    elif dry_run:
        from wmo_score.dry_run import plan_harness, plan_run

        if run_dir is not None and harness is not None:
            raise Usage(f"'--run' plans for the run's own candidates: leave out '{harness}'")
        emit(plan_harness(log, harness, options) if run_dir is None else plan_run(log, run_dir, options), output)
    elif run_dir is None:
        from wmo_score.adhoc import score_harness

        emit(score_harness(log, harness, options), output)
    elif harness is not None:
        raise Usage(f"'--run' scores the run's own candidate: leave out '{harness}'")
    else:
        from wmo_score.due import score_run

        emit(score_run(log, run_dir, options), output)


main = entry(score, goes_on=lambda options: bool(options["run_dir"] or options["keep"]))
