"""Invoke tasks: the slot loop over the installed tools. It calls executables and reads their documents, no more."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task
from rich.console import Console
from rich.table import Table

BIN = Path(sys.executable).parent
REJECTED = 1
USAGE = 2
MISSING, LATER, CONFLICT = 69, 75, 78
ENVIRONMENTS = {"world-model": "world model (predicted)", "replay": "recorded episodes (replayed)"}
"""What is said of those that are not real."""
NEW_RUN = {"seed": "pi", "suite": "suites/starter", "slots": "4", "attempts": "1"}
"""What a new run gets where the user names nothing else. A run that is there keeps its record."""


FROM_MAKE = ("HOLDOUT", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")
"""Where make hands its command line on: a proposer that is a command must not read there what is held out."""

STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""What could steer the terminal from within a cell: a summary or a file name is a model's words (wmo_kit.terminal)."""

running: list[subprocess.Popen[str]] = []
"""The tool at work, if one is."""
stops: list[int] = []
"""The signals that asked us to stop, in order."""


def pass_on(number: int, _frame: FrameType | None) -> None:
    """Note a signal and pass it on: the tool takes the first, ignores the rest, and ends in good order."""
    stops.append(number)
    for process in running:
        process.send_signal(number)


before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
for caught, handler in before.items():
    if handler != signal.SIG_IGN:
        signal.signal(caught, pass_on)


def stop_if_asked() -> None:
    """End with the first signal's exit code where one came."""
    if stops:
        raise Exit(code=128 + stops[0])


def call(*argv: str, given: str | None = None) -> tuple[int, str]:
    """Run a tool; its stderr (progress, messages) is the user's, its stdout is returned with the exit code.

    `given` is for its standard input, which is ours where there is nothing to give.
    """
    stop_if_asked()
    stdin = None if given is None else subprocess.PIPE
    with subprocess.Popen([str(BIN / argv[0]), *argv[1:]], stdin=stdin, stdout=subprocess.PIPE, text=True) as process:
        running.append(process)
        if stops:
            process.send_signal(stops[0])  # it came while the tool started
        output, _ = process.communicate(given)
        running.remove(process)
    code = process.returncode
    if code != 0:
        stop_if_asked()
    if code < 0:  # a tool that could say nothing itself
        print(f"{argv[0]} was killed by signal {-code}; run the same command again to go on", file=sys.stderr)
        code = 128 - code
    return code, output


def hold(run: str, jobs: str, work: str = "loop") -> NoReturn:
    """Become the task `work` on a run that is there, with the run held: a second loop gets exit 75 and our pid."""
    options = ["--run", run, *(["--jobs", jobs] if jobs else [])]
    signal.pthread_sigmask(signal.SIG_BLOCK, before)  # the tool unblocks them once it can tell who stopped it
    stop_if_asked()
    argv = ["wmo-state", "hold", run, "--", str(BIN / "invoke"), work, *options]
    for name in FROM_MAKE:
        os.environ.pop(name, None)
    os.execv(BIN / argv[0], argv)  # noqa: S606  no shell is wanted


def output(*argv: str, given: str | None = None) -> str:
    """Run a tool that must succeed and give what it prints; its failure is ours, with its exit code."""
    code, printed = call(*argv, given=given)
    if code != 0:
        raise Exit(code=code)
    return printed


def document(*argv: str) -> Any:
    """Run a tool as `output` does and parse the document it prints."""
    return json.loads(output(*argv))


def step(run: str, score_options: list[str]) -> bool:
    """Do what `wmo-state next` says, once. Gives False when there is nothing left to do."""
    due = document("wmo-state", "next", run)
    if due["step"] == "done":
        return False
    if due["step"] == "propose":
        code, _ = call("wmo-propose", "--run", run)
        if code not in (0, REJECTED):
            stop_in_order(run, code)
    else:
        code, _ = call("wmo-score", "--run", run, *score_options)
        if code != 0 and due["step"] == "score-holdout":
            stop_in_order(run, code)
        if code != 0:
            raise Exit(code=code)
    return True


def stop_in_order(run: str, code: int) -> NoReturn:
    """End with a tool's exit code; where it may be a limit of the run's that was reached, with the table before."""
    if code in (LATER, CONFLICT):
        with contextlib.suppress(Exit):  # a run that cannot be shown has said why; the first failure counts
            show(run)
    raise Exit(code=code)


def used(spent: dict[str, Any]) -> tuple[str, str]:
    """Give the tokens and the cost of all models together, for people."""
    roles = [spent[role] for role in ("worker", "proposer", "world", "judge")]
    costs = [role["cost"] for role in roles if role["cost"] is not None]
    tokens = sum(role["prompt_tokens"] + role["completion_tokens"] for role in roles)
    return f"{tokens:,}", f"{sum(costs):.4f}" if costs else "-"


def unpriced(status: dict[str, Any]) -> list[str]:
    """Name the roles whose models were used and cost what nobody has said. The offline model costs nothing."""
    settings = status["settings"] or {}
    models = {role: settings.get("proposer_model" if role == "proposer" else role) for role in status["spent"]}
    return [
        role
        for role, model in models.items()
        if model
        and status["spent"][role]["calls"]
        and any(
            one["price_in"] is None and one["base_url"] != "offline" and not one["model"].startswith("offline-")
            for one in [model, *model["fallbacks"]]
        )
    ]


def held_out(view: dict[str, Any]) -> str:
    """Give the line on held-out tasks, for people."""
    tasks = len(view["tasks"])
    if view["gain"] is None:
        return f"held-out tasks ({tasks}): not scored yet; that comes after the last slot"
    line = f"held-out tasks ({tasks}): seed {view['seed_score']:.4f}, best {view['best_score']:.4f}"
    line += f", gain {view['gain']:+.4f} (95 % interval {view['low']:+.4f} to {view['high']:+.4f})"
    return line + (": within noise" if view["within_noise"] else "")


def caption(status: dict[str, Any]) -> str | None:
    """Give the line below the table: what was not real, who decided where no verifier did, and what was open."""
    settings = status["settings"] or {}
    environment = settings.get("environment", "sandbox")
    unreal = ["offline model: simulated"] if status["simulated"] else []
    if environment != "sandbox":
        unreal.append(f"environment: {ENVIRONMENTS[environment]}")
    if judge := settings.get("judge"):
        unreal.append(f"judged by {judge['model']}")
    if settings.get("sandbox") == "none":
        unreal.append("no sandbox: agents, tools and proposer ran as you")
    if opened := settings.get("proposer", {}).get("allow"):
        unreal.append(f"the proposer's box opens {', '.join(opened)}")
    return "; ".join(unreal) or None


def shown(text: str) -> str:
    """Give text for one line on the terminal, what could steer it as escapes."""
    return STEERING.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def show(run: str) -> None:
    """Print the table of a run for people."""
    status = document("wmo-state", "status", run)
    console = Console(width=None if sys.stdout.isatty() else 140, markup=False, emoji=False, highlight=False)
    table = Table(title=f"run {shown(run)}", caption=caption(status))
    for name, justify in (("slot", "right"), ("candidate", "left"), ("score", "right"), ("vs seed", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    counted = not status["simulated"] or status["spent"]["worker"]["cost"] is not None
    for name in ("tokens", "cost") if counted else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what was changed", ratio=3)
    table.add_column("notes", ratio=2)
    best = status["best"]
    for row in status["outcomes"]:
        scored = row["kind"] == "scored"
        table.add_row(
            str(row["slot"]),
            row["candidate_id"],
            f"{row['score']:.4f}" if scored else "-",
            f"{row['change']:+.4f}" if scored and row["slot"] else "",
            *(used(row["spent"]) if counted else ()),
            shown(row["summary"] or "") or ("the seed" if row["slot"] == 0 else ""),
            shown(", ".join(filter(None, [", ".join(row["changed_files"]), row["note"]]))),
            style="bold" if best and row["candidate_id"] == best["candidate_id"] else None,
        )
    console.print(table)
    if counted:
        tokens, cost = used(status["spent"])
        console.print(f"used: {tokens} tokens, cost {cost}")
        for role in unpriced(status):
            console.print(f"cost unknown for {role}: no price")
    if status["holdout"]:
        console.print(held_out(status["holdout"]), soft_wrap=True)
    if best:
        console.print(f"best: {best['candidate_id']}, score {best['score']:.4f}")
        state, materialize = (shlex.quote(f"{BIN_TEXT}/{tool}") for tool in ("wmo-state", "wmo-materialize"))
        console.print(f"see it: {state} best {shlex.quote(run)} | {materialize} --into best/", soft_wrap=True)
    slots = len(status["outcomes"]) - 1
    what = "go on: " if status["completed"] else "resume: "
    wanted = slots + 4 if status["completed"] else status["settings"]["iterations"]
    console.print(f"{what}make run RUN={shlex.quote(run)} SLOTS={wanted}", soft_wrap=True)


BIN_TEXT = os.path.relpath(BIN)


@task
def slot(_: Context, run: str = "runs/demo") -> None:
    """Do the next step of a run: one proposal, or one scoring."""
    if not step(run, []):
        print("nothing is left to do; more slots: make run SLOTS=n", file=sys.stderr)


@task(name="run")
def run_loop(  # noqa: PLR0917  one option each on the command line
    _: Context,
    run: str = "runs/demo",
    suite: str = "",
    slots: str = "",
    attempts: str = "",
    seed: str = "",
    holdout: str = "",
    max_rejections: str = "",
    max_cost: str = "",
    max_tokens: str = "",
    jobs: str = "",
    judge: str = "",
    env: str = "",
    recordings: str = "",
    yes: str = "",
) -> None:
    """Run the loop to its end, or resume it where it stopped; ends with the table."""
    asked = {"seed": seed, "suite": suite, "slots": slots, "attempts": attempts}
    if not recorded(run):
        asked = {name: value or NEW_RUN[name] for name, value in asked.items()}
    asked |= {
        "holdout": holdout,
        "max-consecutive-rejections": max_rejections,
        "max-cost": max_cost,
        "max-tokens": max_tokens,
    }
    document("wmo-state", "init", run, *as_options(asked), *judged(judge), *acts_in(env, recordings), *consent(yes))
    hold(run, jobs)


@task
def plan(  # noqa: PLR0917  one option each on the command line, run's own
    _: Context,
    run: str = "runs/demo",
    suite: str = "",
    slots: str = "",
    attempts: str = "",
    seed: str = "",
    holdout: str = "",
    max_rejections: str = "",
    max_cost: str = "",
    max_tokens: str = "",
    jobs: str = "",
    judge: str = "",
    env: str = "",
    recordings: str = "",
    yes: str = "",
) -> None:
    """Say what a run, or what is left of it, would ask of the models; makes nothing. JOBS changes nothing of it."""
    del max_rejections, jobs
    asked = {"seed": seed, "suite": suite, "slots": slots, "attempts": attempts}
    budget = {"holdout": holdout, "max-cost": max_cost, "max-tokens": max_tokens}
    if not recorded(run):
        asked = {name: value or NEW_RUN[name] for name, value in asked.items()}
        with tempfile.TemporaryDirectory(prefix="wmo-plan-") as temp:
            more = [*judged(judge), *acts_in(env, recordings), *consent(yes)]
            make_unseen(f"{temp}/run", *as_options(asked | budget), *more)
            document("wmo-score", "--run", f"{temp}/run", "--dry-run")
        return
    others = {"judge": judge, "env": env, "recorded": recordings}
    if said := [name for name, value in (asked | budget | others).items() if value]:
        print(f"run '{run}' is planned as it is recorded: leave out {', '.join(said)}", file=sys.stderr)
        raise Exit(code=USAGE)
    document("wmo-score", "--run", run, "--dry-run")


def make_unseen(run: str, *options: str) -> None:
    """Make a run that is only planned with: what is said of it is the user's, but for that it is made."""
    stop_if_asked()
    made = subprocess.run(
        [str(BIN / "wmo-state"), "init", run, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    sys.stderr.write("".join(line for line in made.stderr.splitlines(True) if f"run '{run}': made" not in line))
    if made.returncode != 0:
        stop_if_asked()
        raise Exit(code=made.returncode)


def recorded(run: str) -> bool:
    """Say whether a run is there."""
    return (Path(run) / "run.json").exists()


def judged(judge: str) -> list[str]:
    """Give the option for JUDGE=1."""
    if judge not in {"", "0", "1"}:
        print(f"bad JUDGE '{judge}': give 1 for a judge, or leave it out for the tasks' verifiers", file=sys.stderr)
        raise Exit(code=USAGE)
    return ["--judge"] if judge == "1" else []


def consent(yes: str) -> list[str]:
    """Give the option for YES=1."""
    if yes not in {"", "0", "1"}:
        print(f"bad YES '{yes}': give 1 to agree, or leave it out", file=sys.stderr)
        raise Exit(code=USAGE)
    return ["--yes"] if yes == "1" else []


def acts_in(env: str, recordings: str) -> list[str]:
    """Give the options for ENV=... and RECORDED=..., which may name several folders, with commas between them."""
    folders = recordings.split(",") if recordings else []
    return [*as_options({"env": env}), *(part for folder in folders for part in ("--recorded", folder))]


def as_options(asked: dict[str, str]) -> list[str]:
    """Give the options that are said."""
    return [part for name, value in asked.items() if value for part in (f"--{name}", value)]


@task
def resume(_: Context, run: str = "runs/demo", jobs: str = "", yes: str = "") -> None:
    """Go on with a run as it is recorded."""
    # also finishes a last commit that was cut short: no step is left to do it
    document("wmo-state", "init", run, *consent(yes))
    hold(run, jobs)


@task
def loop(_: Context, run: str = "runs/demo", jobs: str = "") -> None:
    """Step until nothing is left, then show the table; run and resume do it with the run held."""
    while step(run, ["--jobs", jobs] if jobs else []):
        pass
    show(run)


@task
def transfer(_: Context, run: str = "runs/demo", jobs: str = "") -> None:
    """Score a run's seed and best in simulation and in the sandbox, and say whether the gain carries over."""
    if not Path(run).is_dir():
        print(f"no run at '{run}': make one with 'make run', or name another", file=sys.stderr)
        raise Exit(code=MISSING)
    document("wmo-state", "next", run)  # fails where the directory is no run: nothing is to be held then
    hold(run, jobs, "carry-over")


@task
def carry_over(_: Context, run: str = "runs/demo", jobs: str = "") -> None:
    """Make the four scorings and their agreement; transfer does it with the run held."""
    view = document("wmo-state", "status", run)
    if view["settings"] is None or view["best"] is None:
        print(f"nothing to compare in '{run}': its seed is not scored, or it has no run.json yet", file=sys.stderr)
        raise Exit(code=MISSING)
    best = view["best"]
    simulation = ("--env", "world-model", "--judge", "--recorded", run, "--leave-own-out")
    real = view["settings"]["environment"] == "sandbox"
    owned, other, how = ("real", "simulated", simulation) if real else ("simulated", "real", ())
    folder = Path(run, "transfer")
    folder.mkdir(exist_ok=True)
    agreement = folder / "agreement.json"
    agreement.unlink(missing_ok=True)  # it may be of an earlier best
    for name, slot, candidate in (("seed", 0, "candidate-0000"), ("best", best["slot"], best["candidate_id"])):
        (folder / f"{owned}-{name}.json").write_text(output("wmo-state", "scores", run, "--slot", str(slot)))
        source = f"{run}/candidates/{candidate}/source"
        harness = output("wmo-materialize", "--snapshot", source, "--name", candidate)
        keep = ("--keep", f"{folder}/{other}/{candidate}", "-o", f"{folder}/{other}-{name}.json")
        output("wmo-score", "-", "--as", run, *as_options({"jobs": jobs}), *how, *keep, given=harness)
    best_pair, seed_pair = (
        [f"{folder}/{kind}-{name}.json" for kind in ("simulated", "real")] for name in ("best", "seed")
    )
    output("wmo-score", "--agreement", *best_pair, "--baseline", *seed_pair, "-o", str(agreement))
    show_transfer(json.loads(agreement.read_text()))


def show_transfer(found: dict[str, Any]) -> None:
    """Print an agreement of the best candidate's scores for people: A is in the world model, B in the sandbox."""
    console = Console(width=None if sys.stdout.isatty() else 140, markup=False, emoji=False, highlight=False)
    a, b = found["a"], found["b"]
    said = "offline model: simulated" if a["simulated"] or b["simulated"] else None
    table = Table(title=b["candidate_id"], caption=said)
    sides = ("A: in simulation (world model)", "B: in the sandbox")
    for name, justify in (("task", "left"), *((side, "right") for side in sides), ("", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in found["tasks"]:
        same = row["a_passes"] == row["b_passes"]
        table.add_row(shown(row["task_id"]), f"{row['a']:.4f}", f"{row['b']:.4f}", "" if same else "differ")
    console.print(table)
    if found["agreement"] is not None:
        both = found["confusion"]
        console.print(
            f"agreement {found['agreement']:.4f}: pass in both {both['both_pass']}, only in A {both['only_a_passes']}, "
            f"only in B {both['only_b_passes']}, in neither {both['both_fail']}; gap A - B {found['gap']:+.4f}",
            soft_wrap=True,
        )
    console.print(shown(found["sentence"]), soft_wrap=True)


@task
def status(_: Context, run: str = "runs/demo") -> None:
    """Show the table of a run."""
    show(run)


@task
def best(_: Context, run: str = "runs/demo") -> None:
    """Print the winner as a wmo.harness/1 document."""
    code, output = call("wmo-state", "best", run)
    sys.stdout.write(output)
    if code != 0:
        raise Exit(code=code)
