"""The proposer `command`: any coding agent that a command starts, in the same workspace as the vendored pi.

Its box is as closed as every other: /usr, the workspace at its own place with candidate/ writable, a home folder in
/tmp, no network, no variable of the host's; and what the run's record allows. The request is its standard input, too.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_episode.runner import AnyOf
from wmo_kit.child import GRACE_S, ChildResult, run_child
from wmo_kit.config import KEY_VARIABLE
from wmo_kit.errors import Missing
from wmo_kit.orphans import ending_descendants
from wmo_kit.stopping import Stop
from wmo_suites.allowed import Allowed, find_program
from wmo_suites.box import FIXED_ENV, Bind, no_box
from wmo_suites.held_box import BoxLimits, held_box
from wmo_suites.host import survey
from wmo_suites.storage import Storage

from wmo_propose.request import first_line
from wmo_propose.turn import TURN_WALL_S, Turn
from wmo_propose.workspace import REQUEST, Workspace

STREAM_CAP_BYTES = 1 << 20
"""What is kept of each stream; as much as the evidence shows of one file (2 MiB holds both)."""
LIMITS = BoxLimits(memory_bytes=8 << 30, file_bytes=1 << 30, processes=1024, tmp_bytes=1 << 30)
"""More than an agent under test has: coding agents start compilers, and languages' servers."""
STORED_BYTES = 2 << 30
"""What it may write in all to candidate/ and to what it is allowed to."""
SECRET_CHARS = 8
"""A variable's value of this length or more is taken out of what is kept; shorter ones are no keys, but words."""


@dataclass(frozen=True)
class Boxed:
    """What a command's box opens: what is `allowed`, with the `environment` of its variables, and `covers` over it."""

    allowed: Allowed
    environment: Mapping[str, str]
    covers: tuple[Bind, ...] = ()


@dataclass(frozen=True)
class CommandProposer:
    """Runs `argv` on workspaces. Exit status 0 is a submission. `box` is None where it has none."""

    argv: tuple[str, ...]
    box: Boxed | None
    wall_s: float = TURN_WALL_S
    limits: BoxLimits = LIMITS
    stored_bytes: int = STORED_BYTES

    def take_turn(self, workspace: Workspace, stop: Stop) -> Turn:
        """Run the command to its end, its wall budget or `stop`. Raises Missing where it, or bubblewrap, is absent."""
        request = (workspace.root / REQUEST).read_bytes()
        if self.box is None:
            result, excess = self._run_bare(workspace, request, stop), ""
        else:
            result, excess = self._run_boxed(self.box, workspace, request, stop)
        return _turn(self.argv, result, self.wall_s, excess, {} if self.box is None else self.box.environment)

    def _run_bare(self, workspace: Workspace, request: bytes, stop: Stop) -> ChildResult:
        found = shutil.which(self.argv[0])
        if found is None:
            raise Missing(f"no proposer command '{self.argv[0]}': install it, or name its path")
        # by its absolute path: it runs in the workspace, not where its user named it; the workers' key is not its own
        command = ["env", "-u", KEY_VARIABLE, str(Path(found).absolute()), *self.argv[1:]]
        with ending_descendants():  # a box ends what is in it by itself
            return run_child(
                command,
                cwd=workspace.root,
                stdin=request,
                wall_s=self.wall_s,
                cap_bytes=STREAM_CAP_BYTES,
                cancel=stop.event,
            )

    def _run_boxed(self, box: Boxed, workspace: Workspace, request: bytes, stop: Stop) -> tuple[ChildResult, str]:
        """Give how it ended, and what it used too much of, "" where it did not."""
        search = {**FIXED_ENV, **box.environment}["PATH"]
        program = find_program(self.argv[0], search, box.allowed, survey())
        written = [workspace.candidate, *(path for path, writable in box.allowed.paths if writable)]
        storage = Storage(written, self.stored_bytes)
        with held_box(
            [program, *self.argv[1:]],
            binds=[*box.covers, *box.allowed.binds(), *_workspace_binds(workspace)],
            chdir=str(workspace.root.resolve()),
            env=box.environment,
            limits=self.limits,
            network=box.allowed.network,
            cap_bytes=STREAM_CAP_BYTES,
            grace_s=GRACE_S,
        ) as held:
            held.child.feed(request)
            result = held.child.wait(self.wall_s, cancel=AnyOf((stop.event, held.excess, storage)))
            excess = "" if stop.event.is_set() else held.excess.words or storage.words
            if result.returncode > 0 and not result.cancelled and not result.timed_out and not held.command_ended():
                raise no_box(result.stderr)  # no rejection: it would come again, and cost a slot each time
        return result, excess


def _workspace_binds(workspace: Workspace) -> Sequence[Bind]:
    root = workspace.root.resolve()
    binds = [Bind(root, str(root))]
    binds += [Bind(mount.host.resolve(), f"{root}/{mount.inside}") for mount in workspace.read_only()]
    return [*binds, Bind(workspace.candidate.resolve(), f"{root}/{workspace.candidate.name}", writable=True)]


def _turn(argv: Sequence[str], result: ChildResult, wall_s: float, excess: str, secrets: Mapping[str, str]) -> Turn:
    stdout, stderr = (_without(secrets, stream.decode(errors="replace")) for stream in (result.stdout, result.stderr))
    problem, stop_reason = "", "submitted"
    if excess:
        problem, stop_reason = f"the command used {excess}: everything in its box was killed", "excess"
    elif result.cancelled:
        stop_reason = "cancelled"
    elif result.timed_out:
        problem, stop_reason = f"the command took longer than {wall_s:g} s", "timeout"
    elif result.returncode != 0:
        said = _last_line(stderr) or _last_line(stdout)
        problem = f"the command failed with exit status {result.returncode}{': ' if said else ''}{said}"
        stop_reason = f"exit {result.returncode}"
    cancelled = result.cancelled and not excess
    events = {
        "proposer": "command",
        "argv": list(argv),
        "exit_code": result.returncode,
        "timed_out": result.timed_out,
        "cancelled": cancelled,
        "stdout": stdout,
        "stderr": stderr,
        "timings": {"seconds": result.seconds},
    }
    if excess:
        events["excess"] = excess
    summary = _last_line(stdout)
    return Turn(stop_reason=stop_reason, summary=summary, events=events, problem=problem, cut_short=cancelled)


def _without(secrets: Mapping[str, str], text: str) -> str:
    """Put the names of variables that were let in where their values stand: what is kept is read by later proposers."""
    for name, value in secrets.items():
        if len(value) >= SECRET_CHARS and not value.startswith("/"):  # HOME and PATH are no secrets
            text = text.replace(value, f"[{name}]")
    return text


def _last_line(text: str) -> str:
    """Give the last line that is not blank, cut to a summary's length."""
    return first_line("\n".join(reversed(text.splitlines())))
