"""The oracle: a task's own solution, run where the agent would act. A healthy task gives it a reward of 1."""

from pathlib import Path

from wmo_contracts.episode import Observation, SandboxMode
from wmo_kit.errors import BadDocument

from wmo_suites.box import Bind
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task

SOLUTION_INSIDE = "/solution"
COMMAND = 'bash "${WMO_SOLUTION:-/solution}/solve.sh"'


def solution_binds(task: Task) -> tuple[Bind, ...]:
    """Give the mount of /solution for a sandbox that the oracle will act in. Raises BadDocument for a task without."""
    if not (task.solution / "solve.sh").is_file():
        raise BadDocument(f"task '{task.id}' has no 'solution/solve.sh': the oracle cannot run it")
    return (Bind(task.solution, SOLUTION_INSIDE),)


def run_oracle(
    task: Task, workspace: Path, *, mode: SandboxMode = "bwrap", shared: Sandbox | None = None
) -> Observation:
    """Run solution/solve.sh over `workspace`, at most the agent's time; give its output and exit code.

    A script that fails is no exception: the verifier judges. It runs in a sandbox of its own or in `shared`, which must
    have been opened with `solution_binds` and stays open. Raises BadDocument, Missing (69).
    """
    if shared is not None:
        return shared.run(COMMAND, timeout_s=task.agent_timeout_s)
    with Sandbox(workspace, binds=solution_binds(task), limits=task.limits, mode=mode) as sandbox:
        return sandbox.run(COMMAND, timeout_s=task.agent_timeout_s)
