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
  wmo-score --run runs/demo
"""


@click.command("wmo-score", epilog=EXAMPLE)
@click.argument("harness", required=False)
@click.option("--run", "run_dir", type=click.Path(path_type=Path), help="Score what is due in this run and commit it.")
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
@click.option("--judge", is_flag=True, help="A judge model decides, by each task's gold.toml.")
@click.option("--dry-run", is_flag=True, help="Print what would be paid for (wmo.plan/1), and ask no model.")
@click.option("--vendor", type=click.Path(path_type=Path), help="The vendor directory.")
@common_options("wmo-score")
@click.pass_obj
def score(log: Log, /, harness: str | None, run_dir: Path | None, output: str, dry_run: bool, **flags: object) -> None:
    """Score HARNESS (a wmo.harness/1 document, - for stdin) on a suite of tasks; print wmo.score/1.

    Every task is attempted by the harness's agent in a fresh sandbox and graded by the task's verifier. --agent oracle
    runs the tasks' own solutions and --agent nop does nothing: a healthy suite gives 1.0 and 0.0.

    With --judge the model of the role judge decides instead of the verifier, by the assertions in the task's gold.toml
    and what the agent did and answered; tests/test.sh is not run.

    With --run, what is due in a run is scored under the run's recorded settings: finished trials are kept, only missing
    ones run, and the boundary is committed. Exit 75 where a verifier gave no reward or the model failed.

    With --dry-run nothing is scored: trials, worst case and, by what earlier trials used, an estimate are printed, with
    a warning where the run's budget cannot finish its slots.
    """
    from wmo_kit.documents import emit

    from wmo_score.options import from_flags

    options = from_flags(flags)
    if dry_run:
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
