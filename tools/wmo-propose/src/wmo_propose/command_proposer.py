"""The proposer `command`: any coding agent that a command starts, in the same workspace as the vendored pi.

It sees the machine as its user does (network, home folder, its own credentials), but the run directory is read-only
except for candidate/. The request is its standard input, too.
"""

import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.episode import SandboxMode
from wmo_kit.child import ChildResult, run_child
from wmo_kit.config import KEY_VARIABLE
from wmo_kit.errors import Missing
from wmo_kit.orphans import ending_descendants
from wmo_kit.stopping import Stop
from wmo_suites.box import Bind, bwrap_argv, check_bwrap

from wmo_propose.request import first_line
from wmo_propose.turn import TURN_WALL_S, Turn
from wmo_propose.workspace import REQUEST, Workspace

STREAM_CAP_BYTES = 1 << 20
"""What is kept of each stream; as much as the evidence shows of one file (2 MiB holds both)."""


@dataclass(frozen=True)
class CommandProposer:
    """Runs `argv` on workspaces of the run `run_dir`. Exit status 0 is a submission.

    `covers` are binds that hide what the command must not read; without a box they hide nothing.
    """

    argv: tuple[str, ...]
    run_dir: Path
    mode: SandboxMode
    covers: tuple[Bind, ...] = ()
    wall_s: float = TURN_WALL_S

    def take_turn(self, workspace: Workspace, stop: Stop) -> Turn:
        """Run the command to its end, its wall budget or `stop`. Raises Missing where it, or bubblewrap, is absent."""
        command = ["env", "-u", KEY_VARIABLE, _find(self.argv[0]), *self.argv[1:]]  # the workers' key is not its own
        if self.mode == "bwrap":
            command = self._boxed(command, workspace)
        request = (workspace.root / REQUEST).read_bytes()
        with ending_descendants() if self.mode == "none" else nullcontext():  # a box ends what is in it by itself
            result = run_child(
                command,
                cwd=workspace.root,
                stdin=request,
                wall_s=self.wall_s,
                cap_bytes=STREAM_CAP_BYTES,
                cancel=stop.event,
            )
        return _turn(self.argv, result, self.wall_s)

    def _boxed(self, command: Sequence[str], workspace: Workspace) -> list[str]:
        run_dir, root = self.run_dir.resolve(), workspace.root.resolve()
        binds = [Bind(run_dir, str(run_dir)), *self.covers]
        binds += [Bind(mount.host.resolve(), f"{root}/{mount.inside}") for mount in workspace.read_only()]
        binds.append(Bind(workspace.candidate.resolve(), f"{root}/{workspace.candidate.name}", writable=True))
        return bwrap_argv(command, host=check_bwrap(), binds=binds, chdir=str(root), network=True, view="host")


def _find(program: str) -> str:
    """Give the program's absolute path: the command runs in the workspace, not where its user named it."""
    found = shutil.which(program)
    if found is None:
        raise Missing(f"no proposer command '{program}': install it, or name its path")
    return str(Path(found).absolute())


def _turn(argv: Sequence[str], result: ChildResult, wall_s: float) -> Turn:
    stdout, stderr = (stream.decode(errors="replace") for stream in (result.stdout, result.stderr))
    problem, stop_reason = "", "submitted"
    if result.cancelled:
        stop_reason = "cancelled"
    elif result.timed_out:
        problem, stop_reason = f"the command took longer than {wall_s:g} s", "timeout"
    elif result.returncode != 0:
        said = _last_line(stderr) or _last_line(stdout)
        problem = f"the command failed with exit status {result.returncode}{': ' if said else ''}{said}"
        stop_reason = f"exit {result.returncode}"
    events = {
        "proposer": "command",
        "argv": list(argv),
        "exit_code": result.returncode,
        "timed_out": result.timed_out,
        "cancelled": result.cancelled,
        "stdout": stdout,
        "stderr": stderr,
        "timings": {"seconds": result.seconds},
    }
    summary = _last_line(stdout)
    return Turn(stop_reason=stop_reason, summary=summary, events=events, problem=problem, cut_short=result.cancelled)


def _last_line(text: str) -> str:
    """Give the last line that is not blank, cut to a summary's length."""
    return first_line("\n".join(reversed(text.splitlines())))
