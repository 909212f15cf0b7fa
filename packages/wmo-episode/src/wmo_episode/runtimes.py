"""Which runtime plays a harness: chosen by its runtime_kind, the same for every caller."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from wmo_contracts.episode import EpisodeDocument, SandboxMode
from wmo_harness.config_file import RuntimeKind
from wmo_harness.pi_agent import find_vendor_dir, runtime_dir
from wmo_harness.source_tree import SourceTree
from wmo_models.provider import Provider

from wmo_episode.kit_runtime import KitRuntime
from wmo_episode.node_check import check_node
from wmo_episode.runtime import PiRuntime, Runtime
from wmo_episode.warm_pool import WarmPool


def vendored_runtime(kind: RuntimeKind, configured: Path | None, mode: SandboxMode) -> Path | None:
    """Give vendor/runtime for a harness of `kind`, None where it needs none. Raises Missing, also where node fails.

    `configured` as in find_vendor_dir. Call it once for many episodes: node is started, to see that it works.
    """
    if kind != "pi-node":
        return None
    runtime = runtime_dir(find_vendor_dir(configured, Path()))
    check_node(runtime, mode)
    return runtime


def runtime_for(
    document: EpisodeDocument,
    files: SourceTree,
    provider: Provider,
    vendored: Path | None,
    *,
    work: Path | None = None,
    port: int = 0,
    pool: WarmPool | None = None,
) -> Runtime:
    """Give the runtime of `document`'s harness, whose tree is `files`; `vendored` is what vendored_runtime gives.

    `work` and `port` as in Runtime, `pool` as in PiRuntime.
    """
    brief = provider, files, document.tools, document.system
    skills, limits, mode = document.skills, document.limits, document.environment.mode
    if vendored is None:
        return KitRuntime(*brief, skills=skills, limits=limits, mode=mode, work=work, port=port)
    return PiRuntime(*brief, vendored, pool, skills=skills, limits=limits, mode=mode, work=work, port=port)


def warm_pool(
    vendored: Path | None, mode: SandboxMode, episodes: int, work: Path
) -> AbstractContextManager[WarmPool | None]:
    """Give a pool for `episodes` that will use `vendored`, as large as there are processors; None where none is of use.

    Without a box there is none: a process that waits could be tampered with by what runs beside it.
    """
    if vendored is None or mode == "none":
        return nullcontext()
    processors = len(os.sched_getaffinity(0))
    return WarmPool(vendored, PiRuntime.ENTRY_COMMAND, size=processors, episodes=episodes, work=work)
