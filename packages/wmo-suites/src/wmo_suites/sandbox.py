"""The sandbox environment: bash, read_file and write_file in a workspace that the agent sees as /app."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wmo_contracts.episode import Action, Observation, SandboxMode

from wmo_suites.box import Bind
from wmo_suites.disk import NO_SPACE, check_room
from wmo_suites.limits import SandboxLimits
from wmo_suites.supervised import SandboxDiedError, Supervised
from wmo_suites.tool_calls import call_problem

FILE_WAIT_S = 60.0
SLACK_S = 15.0
"""How much longer than a command's own timeout its answer may take; then the whole sandbox is given up."""
VARIABLES = {"/app": "WMO_APP", "/tests": "WMO_TESTS", "/logs/verifier": "WMO_LOGS", "/solution": "WMO_SOLUTION"}


class Sandbox:
    """A workspace to act in, for one episode: what a command starts stays alive until `close`.

    Every bash call is a fresh `bash -c` in /app with stdin closed, stdout and stderr in one stream, and a time limit of
    its own; processes that it leaves in the background do not hold the call. Implements Environment. Thread-safe.

    Mode "none" runs the same without a box: the workspace is the current folder, /app and the binds do not exist, and
    nothing is rewritten: the variables WMO_APP, WMO_TESTS, WMO_LOGS and WMO_SOLUTION say where they are on the host.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        binds: Sequence[Bind] = (),
        limits: SandboxLimits | None = None,
        mode: SandboxMode = "bwrap",
        nests: bool = False,
    ) -> None:
        """Open it over the folder `workspace` without waiting: where none can be made, the first call says so.

        With `nests`, for verifiers, commands can make boxes within the box: bash /opt/wmo/apart.sh PROGRAM ...
        """
        self._limits = limits or SandboxLimits()
        self._place, self._nests = (workspace.absolute(), tuple(binds), self._limits, mode), nests
        self._env = _variables(self._place[0], binds) if mode == "none" else {}
        self._turn, self._state = threading.Lock(), threading.Lock()
        self._closed = False
        self._supervised: Supervised | None = Supervised(*self._place, nests=nests)

    @property
    def binds(self) -> tuple[Bind, ...]:
        """The mounts that it was opened with."""
        return self._place[1]

    def execute(self, action: Action) -> Observation:
        """Carry out one tool call. Whatever the agent did wrong is an error observation.

        Raises Missing (69) with the reason where no sandbox can be made; OSError where the disk is full afterwards or
        the workspace is gone: what the call gave is then no observation.
        """
        problem = call_problem(action)
        if problem:
            return Observation(content=problem, is_error=True)
        arguments = action.arguments
        if action.name == "bash":
            return self.run(arguments["command"])
        reply = self._ask({"op": action.name, **arguments}, FILE_WAIT_S)
        return reply if isinstance(reply, Observation) else _observe_file(action.name, arguments["path"], reply)

    def run(self, command: str, *, timeout_s: float | None = None) -> Observation:
        """Run a bash command, as the tool does, with a time limit of its own. Raises what `execute` does."""
        limit = self._limits.command_timeout_s if timeout_s is None else timeout_s
        request = {"op": "bash", "command": command, "timeout_s": limit, "env": self._env}
        reply = self._ask(request, limit + SLACK_S)
        return reply if isinstance(reply, Observation) else _observe_bash(reply, limit, self._limits)

    def close(self) -> None:
        """End everything in the sandbox; gives back once it is dead. A call in progress ends with an error."""
        with self._state:
            self._closed = True
            if self._supervised:
                self._supervised.close()

    def __enter__(self) -> Self:
        """Give the sandbox itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _ask(self, request: dict[str, Any], wait_s: float) -> dict[str, Any] | Observation:
        with self._turn:
            with self._state:
                if self._closed:
                    return Observation(content="the sandbox is closed", is_error=True)
                supervised = self._supervised = self._supervised or Supervised(*self._place, nests=self._nests)
            try:
                reply = supervised.ask(request, wait_s)
                self._check_disks(str(reply.get("output", "")))
                return reply
            except SandboxDiedError as error:
                with self._state:
                    supervised.close()
                    self._supervised = None
                told = (
                    ""
                    if self._closed
                    else "; the next call gets a fresh one on the same files, other processes are lost"
                )
                return Observation(content=f"{error} during this call{told}", is_error=True)

    def _check_disks(self, output: str) -> None:
        """Raise OSError for a full disk. A program that speaks of one may have made room again before it ended."""
        workspace, binds, limits, mode = self._place
        writable = [workspace, *(bind.host for bind in binds if bind.writable)]
        wanted = limits.file_bytes if NO_SPACE in output else 0
        for folder in [*writable, Path("/tmp")] if mode == "none" else writable:
            check_room(folder, wanted)


def _variables(workspace: Path, binds: Sequence[Bind]) -> dict[str, str]:
    places = {"/app": workspace, **{bind.inside: bind.host for bind in binds}}
    return {name: str(places[inside]) for inside, name in VARIABLES.items() if inside in places}


def _observe_bash(reply: dict[str, Any], timeout_s: float, limits: SandboxLimits) -> Observation:
    if "error" in reply:
        return Observation(content=f"cannot run the command: {reply['error']}", is_error=True)
    code, stopped = reply["exit_code"], reply["stopped"]
    note = ""
    if stopped == "timeout":
        note = f"[timed out after {timeout_s:g} s: the command and its children were killed]"
    elif stopped:
        note = f"[more than {limits.words(stopped)}: everything in the sandbox was killed]"
    elif code:
        note = f"[exit code {code}]"
    output: str = reply["output"]
    if note and output and not output.endswith("\n"):
        output += "\n"
    return Observation(
        content=output + note,
        is_error=bool(note),
        exit_code=None if stopped else code,
        timed_out=stopped == "timeout",
        truncated=reply["dropped"] > 0,
    )


def _observe_file(tool: str, path: str, reply: dict[str, Any]) -> Observation:
    if "error" in reply:
        verb = "read" if tool == "read_file" else "write"
        return Observation(content=f"cannot {verb} '{path}': {reply['error']}", is_error=True)
    if tool == "write_file":
        return Observation(content=f"wrote {reply['written']} bytes to '{path}'")
    return Observation(content=reply["output"], truncated=reply["dropped"] > 0)
