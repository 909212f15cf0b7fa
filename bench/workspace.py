"""A proposer's workspace for a run of 200 candidates with 50 trials each: how long it takes, and what new disk."""

import os
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from wmo_population.recorded import open_run
from wmo_propose.workspace import build_workspace, manifest
from wmo_suites.box import Bind, bwrap_argv, check_bwrap

from bench.big_run import build_run, gather
from bench.timing import Row, value_row

CANDIDATES, TASKS, ATTEMPTS = 200, 10, 5
LIMIT_S, LIMIT_MB, MB = 1.0, 10.0, 1e6
ROUNDS = 3
BLOCK_BYTES = 512  # stat(2): st_blocks
FLOOR = "a look at the size of each of 40,000 files, to see that nothing too large is shown, and a mount a candidate"
JUDGED_FLOOR = "a link a file, and a folder a trial (4 kB each): no mount of a trial can leave its judge's folder out"


def measure() -> list[Row]:
    """Give time and disk of a workspace of mounts, and of one in a run with a judge, whose files are linked."""
    return [*_rows("proposer's workspace", judged=False), *_rows("proposer's workspace, judged", judged=True)]


def _rows(name: str, *, judged: bool) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder:
        run_dir = Path(folder) / "run"
        build_run(run_dir, CANDIDATES - 1, gather(TASKS, ATTEMPTS, judged=judged))
        rounds = [_build(run_dir, number, judged=judged) for number in range(ROUNDS)]
    phases, used = min(rounds, key=lambda one: sum(one[0].values()))
    seconds = sum(phases.values())
    floor = JUDGED_FLOOR if judged else FLOOR
    what = f"{name}, {CANDIDATES} candidates x {TASKS * ATTEMPTS} trials"
    return [
        value_row(what, seconds, seconds, "s", LIMIT_S, phases=phases, floor=floor),
        value_row(f"{what}: new disk", seconds, used / MB, "MB", LIMIT_MB, floor="the seed's files, and mount points"),
    ]


def _build(run_dir: Path, number: int, *, judged: bool) -> tuple[dict[str, float], int]:
    """Build it and start `true` in a box that shows it; gives seconds by phase, and the bytes of new disk."""
    with open_run(run_dir) as run:
        run.layout.proposal_dir(run.next.slot).mkdir(parents=True, exist_ok=True)  # wmo-propose opens its evidence
        marks = [time.perf_counter()]
        history = manifest(run.layout, run.state.entries)
        marks.append(time.perf_counter())
        root = run.work_dir / f"bench-{number}"
        workspace = build_workspace(root, run.layout, history, run.plan.seed, "", link=False, judged=judged)
        marks.append(time.perf_counter())
        binds = [Bind(workspace.root, "/app", writable=True)]
        binds += [Bind(mount.host, f"/app/{mount.inside}") for mount in workspace.read_only()]
        subprocess.run(bwrap_argv(["true"], host=check_bwrap(), binds=binds), check=True)
        marks.append(time.perf_counter())
        used = new_bytes(root)
    names = ("manifest", "build", "mount")
    return {name: end - begin for name, (begin, end) in zip(names, pairwise(marks), strict=True)}, used


def new_bytes(root: Path) -> int:
    """Give what a folder takes on disk, itself too; a file that has another name elsewhere takes nothing new."""
    total = root.lstat().st_blocks
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            status = Path(folder, name).lstat()
            if name in folders or status.st_nlink == 1:
                total += status.st_blocks
    return total * BLOCK_BYTES
