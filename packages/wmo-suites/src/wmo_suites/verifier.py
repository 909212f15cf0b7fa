"""The verifier: runs a task's tests/test.sh over a workspace and reads its verdict."""

import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from wmo_contracts.episode import Observation, SandboxMode
from wmo_contracts.score import CellTests
from wmo_kit.errors import Transient
from wmo_kit.io_errors import naming

from wmo_suites.box import Bind
from wmo_suites.reward import BadVerdictError, read_reward, read_tests
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task
from wmo_suites.workspace import empty_folder, remove_entry, remove_workspace

TESTS_INSIDE, LOGS_INSIDE = "/tests", "/logs/verifier"
COMMAND = 'bash "${WMO_TESTS:-/tests}/test.sh"'
OUTPUT_NAME = "output.txt"
OUTPUT_CAP_BYTES = 256 << 10
TAIL_CHARACTERS = 500
DEPTH = 16
"""Folders in a log folder, one in the other."""

Guard = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""Has a function called where work must end at once while its context lasts (wmo_kit.stopping.Stop.calling)."""


class NoReward(Transient):
    """A verifier gave no readable reward: an infrastructure failure, never a score of 0."""


@dataclass(frozen=True)
class Verdict:
    """A verifier's word. `reward` is 0 to 1; `tests` None where it counted none; `note` says what else is odd.

    `cut_short`: test.sh was ended from outside after it had written its reward, but not by its timeout.
    """

    reward: float
    tests: CellTests | None
    note: str = ""
    cut_short: bool = False
    timings: dict[str, float] = field(default_factory=dict)


def verify(
    task: Task,
    workspace: Path,
    logs_dir: Path,
    *,
    mode: SandboxMode = "bwrap",
    shared: Sandbox | None = None,
    guard: Guard | None = None,
) -> Verdict:
    """Run the task's verifier over `workspace`; what it writes and prints is kept in `logs_dir`/verifier, made fresh.

    It runs in a sandbox of its own or, with `shared`, in the episode's, which must have been opened with
    `shared_binds` and is closed here, before the verdict is read. What the agent left running has the verifier's rights
    there: a shared verdict is only as honest as the agent. A written reward stands, whatever test.sh's exit code or
    timeout. `guard` may close the fresh sandbox, which ends the verifier (the shared one is the caller's to close).
    Raises NoReward (75) where there is none to read, Missing (69), OSError.
    """
    logs = logs_dir / "verifier"
    started = time.monotonic()
    if shared is None:
        remove_workspace(logs)
        logs.mkdir(parents=True)
        ended = _run_fresh(task, workspace, logs, mode, guard)
    else:
        ended = _run_shared(task, logs, shared)
    seconds = time.monotonic() - started
    try:
        reward = read_reward(logs)
    except BadVerdictError as error:
        raise NoReward(_no_reward(task, str(error), ended)) from error
    finally:
        _tidy(logs)
        _keep_output(logs / OUTPUT_NAME, ended.content)
    notes = ["the verifier timed out after it had written its reward"] if ended.timed_out else []
    try:
        tests = read_tests(logs)
    except BadVerdictError as error:
        tests = None
        notes.append(f"no test counts: {error}")
    cut_short = ended.exit_code is None and not ended.timed_out
    return Verdict(reward, tests, "; ".join(notes), cut_short, {"verifier": seconds})


def shared_binds(task: Task, logs_dir: Path, scratch: Path) -> tuple[Bind, ...]:
    """Give what an episode's sandbox needs for a verifier that will run in it; () where the task wants a fresh one.

    The agent sees /tests and /logs/verifier as empty folders; /tests is read-only to it, and is filled from the host
    when the verifier starts. `scratch`: a folder of ours that lives as long as the sandbox. Raises OSError.
    """
    if task.verifier_environment != "shared":
        return ()
    tests, logs = scratch / "tests", logs_dir / "verifier"
    for folder in (tests, logs):
        remove_workspace(folder)
        folder.mkdir(parents=True)
    return (Bind(tests, TESTS_INSIDE), Bind(logs, LOGS_INSIDE, writable=True))


def _run_fresh(task: Task, workspace: Path, logs: Path, mode: SandboxMode, guard: Guard | None) -> Observation:
    limits = replace(task.limits, output_cap_bytes=OUTPUT_CAP_BYTES)
    binds = (Bind(task.tests, TESTS_INSIDE), Bind(logs, LOGS_INSIDE, writable=True))
    with (
        Sandbox(workspace, binds=binds, limits=limits, mode=mode, nests=True) as sandbox,
        guard(sandbox.close) if guard else nullcontext(),
    ):
        return sandbox.run(COMMAND, timeout_s=task.verifier_timeout_s)


def _run_shared(task: Task, logs: Path, sandbox: Sandbox) -> Observation:
    """Bring the tests in through the host's side of the mounts that `shared_binds` made."""
    tests = next(bind.host for bind in sandbox.binds if bind.inside == TESTS_INSIDE)
    empty_folder(logs)
    shutil.copytree(task.tests, tests, symlinks=True, dirs_exist_ok=True)
    try:
        return sandbox.run(COMMAND, timeout_s=task.verifier_timeout_s)
    finally:
        sandbox.close()
        empty_folder(tests)


def _no_reward(task: Task, reason: str, ended: Observation) -> str:
    how = f"test.sh exited with {ended.exit_code}"
    if ended.timed_out:
        how = f"test.sh timed out after {task.verifier_timeout_s:g} s"
    elif ended.exit_code is None:
        how = "test.sh was cut short"
    tail = ended.content[-TAIL_CHARACTERS:].strip()
    return (
        f"no reward from the verifier of task '{task.id}': {reason}; {how}; its output ends with: {tail or '(nothing)'}"
    )


def _tidy(logs: Path) -> None:
    """Leave only plain files and folders, readable by us: the folder is evidence that others copy and read.

    What has no printable name, or lies deeper than DEPTH folders, goes.
    """
    waiting = [(logs, 0)]
    while waiting:
        folder, depth = waiting.pop()
        for path in folder.iterdir():
            if path.is_symlink() or not (path.is_file() or path.is_dir()) or not path.name.isprintable():
                remove_entry(path)
            elif path.is_dir():
                path.chmod(0o755)
                waiting.append((path, depth + 1))
                if depth == DEPTH:
                    empty_folder(path)
            else:
                path.chmod(0o644)


def _keep_output(path: Path, content: str) -> None:
    """Write what the verifier printed; a folder or file of its own under that name gives way."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    with naming(path):
        path.write_text(content, "utf-8", newline="")
