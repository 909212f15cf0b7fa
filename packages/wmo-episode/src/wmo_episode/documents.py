"""`wmo.episode/1`: made from a harness and a task, and read back into what an episode runs on."""

from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.episode import (
    EnvironmentKind,
    EnvironmentRef,
    EpisodeDocument,
    HarnessRef,
    Limits,
    ModelRef,
    SandboxMode,
    TaskRef,
)
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import HarnessSpec, doc_hash, parse_tree
from wmo_harness.system_prompt import system_prompt
from wmo_harness.tool_policy import tool_specs
from wmo_harness.tree_io import read_tree
from wmo_kit.documents import read_document
from wmo_kit.errors import BadDocument
from wmo_suites.task import Task

KIT_MODEL_CALLS = 40
"""What bounds a kit-python harness, whose own loop need not keep to max_turns (issue 4); pi keeps to it."""


def episode_document(
    spec: HarnessSpec,
    tree: SourceTree,
    task: Task,
    *,
    harness_path: str,
    task_path: str,
    model: ModelRef,
    mode: SandboxMode = "bwrap",
    environment: EnvironmentKind = "sandbox",
    recorded: tuple[str, ...] = (),
    context_window: int | None = None,
) -> EpisodeDocument:
    """Say everything that one episode of `task` under the harness `tree` (parsed: `spec`) needs.

    All paths are absolute, or relative to the folder that the document will be in; `recorded` are the folders that a
    world model or a replay reads. The episode's wall budget is the task's own; every limit that neither the harness nor
    the task names has design 5's default. It is as it will be read back, whose keys are sorted: else a model would see
    a tool's arguments in another order when an episode is replayed.
    """
    document = EpisodeDocument(
        task=TaskRef(id=task.id, instruction=task.instruction, path=task_path),
        harness=HarnessRef(path=harness_path, tree_hash=tree_hash(tree), doc_hash=doc_hash(spec)),
        system=system_prompt(spec),
        tools=tuple(tool_specs(spec.tools)),
        skills=spec.skills,
        limits=_limits(spec, Limits(timeout_s=task.agent_timeout_s, context_window=context_window)),
        environment=EnvironmentRef(
            kind=environment,
            recorded=recorded,
            mode=mode,
            command_timeout_s=task.limits.command_timeout_s,
            output_cap_bytes=task.limits.output_cap_bytes,
        ),
        model=model,
    )
    return EpisodeDocument.model_validate_json(document.to_text())


def with_harness(document: EpisodeDocument, tree: SourceTree, harness_path: str) -> EpisodeDocument:
    """Give the episode with another harness: its prompt, tools, skills, limits; the rest stays. Raises BadHarness."""
    spec = parse_tree(tree)
    changed = document.model_copy(
        update={
            "harness": HarnessRef(path=harness_path, tree_hash=tree_hash(tree), doc_hash=doc_hash(spec)),
            "system": system_prompt(spec),
            "tools": tuple(tool_specs(spec.tools)),
            "skills": spec.skills,
            "limits": _limits(spec, document.limits),
        }
    )
    return EpisodeDocument.model_validate_json(changed.to_text())


def _limits(spec: HarnessSpec, limits: Limits) -> Limits:
    """Give `limits` with those that a harness sets."""
    return limits.model_copy(
        update={
            "max_turns": spec.max_turns,
            "max_model_calls": KIT_MODEL_CALLS if spec.runtime_kind == "kit-python" else None,
            "max_output_tokens": spec.max_output_tokens,
            "temperature": float(spec.temperature),
        }
    )


@dataclass(frozen=True)
class Episode:
    """A document and what its paths lead to. `task_path` is None where the document names no task folder."""

    document: EpisodeDocument
    files: SourceTree
    task_path: Path | None
    recorded: tuple[Path, ...] = ()


def read_episode(source: str, harness: Path | None = None) -> Episode:
    """Read an episode document from a path or stdin (`-`, paths are then relative to here) and the harness it names.

    The one in the folder `harness`, where given, takes its place. Raises BadDocument for a malformed document or
    harness, and for a harness that is not the one whose hash it records; Missing where its folder does not exist;
    OSError.
    """
    document = read_document(source, EpisodeDocument)
    folder = Path() if source == "-" else Path(source).parent
    task_path = folder / document.task.path if document.task.path else None
    recorded = tuple(folder / path for path in document.environment.recorded)
    if harness is not None:
        tree = read_tree(harness)
        return Episode(with_harness(document, tree, str(harness)), tree, task_path, recorded)
    files = read_tree(folder / document.harness.path)
    found = tree_hash(files)
    if found != document.harness.tree_hash:
        raise BadDocument(
            f"the harness in '{folder / document.harness.path}' is not the one of '{source}': its tree_hash is "
            f"'{found}', wanted '{document.harness.tree_hash}'; score the harness again"
        )
    return Episode(document, files, task_path, recorded)
