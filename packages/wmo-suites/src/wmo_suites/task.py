"""Tasks on disk: the layout of Harbor tasks, one folder each."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from wmo_kit.errors import BadDocument
from wmo_kit.written import first_problem

from wmo_suites.gold import EXAMPLE, GOLD, read_gold
from wmo_suites.limits import SandboxLimits

TASK_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
WORKSPACE = "environment/workspace"
REQUIRED = ("instruction.md", WORKSPACE, "tests/test.sh")
MIB = 1 << 20

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
VerifierEnvironment = Literal["fresh", "shared"]


class _Written(BaseModel):
    """Hand-written configuration forbids what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Timed(_Written):
    timeout_sec: Seconds = 300.0


class _Verifier(_Written):
    timeout_sec: Seconds = 120.0
    environment: VerifierEnvironment = "fresh"


class _Environment(_Written):
    """`build_timeout_sec`, `docker_image` and `cpus` are for Docker users and do nothing here."""

    build_timeout_sec: Seconds = 600.0
    docker_image: str = ""
    cpus: Annotated[float, Field(gt=0)] = 1
    memory_mb: Annotated[int, Field(gt=0)] = 4096
    storage_mb: Annotated[int, Field(gt=0)] = 1024
    allow_internet: bool = False

    @field_validator("allow_internet")
    @classmethod
    def _no_network(cls, value: bool) -> bool:
        if value:
            raise ValueError("it is true, but a sandbox has no network: set it to false if the task can do without")
        return value


class _TaskFile(_Written):
    """task.toml. `metadata` is free."""

    version: str = "1.0"
    source: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    agent: _Timed = _Timed()
    verifier: _Verifier = _Verifier()
    environment: _Environment = _Environment()


@dataclass(frozen=True)
class Task:
    """One task. `path` is its folder, timeouts are seconds, `limits` what its sandboxes may use.

    `assertions` are those of its gold.toml, for a judge; None where it has none.
    """

    id: str
    path: Path
    instruction: str
    agent_timeout_s: float
    verifier_timeout_s: float
    verifier_environment: VerifierEnvironment
    limits: SandboxLimits
    assertions: tuple[str, ...] | None = None

    @property
    def workspace(self) -> Path:
        """The folder that is copied to /app."""
        return self.path / WORKSPACE

    @property
    def tests(self) -> Path:
        """The folder that the verifier sees as /tests."""
        return self.path / "tests"

    @property
    def solution(self) -> Path:
        """The folder that the oracle sees as /solution; a task may have none."""
        return self.path / "solution"


def load_task(path: Path) -> Task:
    """Read the task in folder `path`, whose name is the task's id. Raises BadDocument naming the file and the key."""
    path = path.absolute()  # without a box, commands run in the workspace, where a relative path leads elsewhere
    identity = path.name
    if not TASK_ID.fullmatch(identity):
        raise BadDocument(f"bad task name '{identity}': the folder's name must match [a-z0-9][a-z0-9._-]*")
    settings = _read_settings(path / "task.toml")
    for name in REQUIRED:
        if not (path / name).exists():
            raise BadDocument(f"task '{identity}' has no '{name}' in '{path}'")
        if not ((path / name).is_dir() if name == WORKSPACE else (path / name).is_file()):
            kind = "folder" if name == WORKSPACE else "file"
            raise BadDocument(f"task '{identity}' has a bad '{name}' in '{path}': it is no {kind}")
    try:
        instruction = (path / "instruction.md").read_text("utf-8")
    except UnicodeDecodeError as error:
        raise BadDocument(f"cannot read '{path / 'instruction.md'}': not UTF-8 at byte {error.start}") from error
    if not instruction.strip():
        raise BadDocument(f"task '{identity}' has an empty '{path / 'instruction.md'}'")
    storage = settings.environment.storage_mb * MIB
    return Task(
        id=identity,
        path=path,
        instruction=instruction,
        agent_timeout_s=settings.agent.timeout_sec,
        verifier_timeout_s=settings.verifier.timeout_sec,
        verifier_environment=settings.verifier.environment,
        limits=SandboxLimits(memory_bytes=settings.environment.memory_mb * MIB, file_bytes=storage, tmp_bytes=storage),
        assertions=read_gold(path / GOLD),
    )


def require_gold(tasks: Iterable[Task]) -> None:
    """Raise BadDocument for the first task that a judge cannot judge, for it has no gold.toml."""
    for task in tasks:
        if task.assertions is None:
            raise BadDocument(
                f"task '{task.id}' cannot be judged: there is no '{task.path / GOLD}': write what must be true of "
                f"a good attempt, {EXAMPLE}"
            )


def _read_settings(path: Path) -> _TaskFile:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
        return _TaskFile.model_validate(values)
    except FileNotFoundError as error:
        raise BadDocument(f"no task at '{path.parent}': there is no '{path.name}' in it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadDocument(f"cannot read '{path}': {error}") from error
    except ValidationError as error:
        raise BadDocument(f"cannot read '{path}': {first_problem(error, _TaskFile)}") from error


def load_suite(directory: Path) -> list[Task]:
    """Read every task folder (one that has a task.toml) of a suite, sorted by id. Raises BadDocument, also for none."""
    if not directory.is_dir():
        raise BadDocument(f"no suite at '{directory}': it is no folder")
    tasks = [load_task(child) for child in sorted(directory.iterdir()) if (child / "task.toml").is_file()]
    if not tasks:
        raise BadDocument(f"no tasks in suite '{directory}': no folder in it has a task.toml")
    return tasks


def select(tasks: Sequence[Task], names: Iterable[str]) -> list[Task]:
    """Give the named tasks in the order asked for. Raises BadDocument for a name that is unknown or comes twice."""
    known = {task.id: task for task in tasks}
    asked = list(names)
    for position, name in enumerate(asked):
        if name not in known:
            raise BadDocument(f"unknown task '{name}': there are {', '.join(sorted(known))}")
        if name in asked[:position]:
            raise BadDocument(f"task '{name}' is named twice")
    return [known[name] for name in asked]


def task_digest(task: Task, *, judged: bool) -> str:
    """Give the BLAKE2b-16 hex digest of all the task's files: paths, executable bits, link targets and bytes.

    Folders and other mode bits do not count: version control does not carry them. Nor does its gold.toml, unless trials
    are `judged`: a verifier does not read it. Raises OSError.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(task.path.rglob("*"), key=lambda path: path.relative_to(task.path).as_posix()):
        if not judged and path == task.path / GOLD:
            continue
        if path.is_symlink():
            kind, data = b"l", str(path.readlink()).encode()
        elif path.is_file():
            kind, data = (b"x" if path.stat().st_mode & 0o100 else b"f"), path.read_bytes()
        else:
            continue
        name = path.relative_to(task.path).as_posix().encode()
        digest.update(kind + len(name).to_bytes(4, "big") + name + len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
