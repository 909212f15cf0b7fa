"""The interpreter of pi-node harnesses: node, the libraries that pi imports, and the compile cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.episode import SandboxMode
from wmo_suites.box import Bind

from wmo_episode.layout import CACHE, MODULES
from wmo_episode.node_binary import node_prefix
from wmo_episode.runner import INSIDE, SYSTEM_PATH

NODE_INSIDE = "/opt/node"


@dataclass(frozen=True)
class Node:
    """Node with the folder `runtime`, which holds node_modules and compile-cache (vendor/runtime).

    `cache_writable` is for set-up alone (wmo_episode.warm): what a candidate wrote there, the next one would run.
    """

    runtime: Path
    cache_writable: bool = False

    def modules(self, mode: SandboxMode) -> Path | None:
        """Give what the runner's folder links node_modules to; None where the box mounts it."""
        return None if mode == "bwrap" else self.runtime / MODULES

    def binds(self) -> Sequence[Bind]:
        """Give the mounts of node, its libraries and the cache. Raises Missing."""
        return (
            Bind(node_prefix(), NODE_INSIDE),
            Bind(self.runtime / MODULES, f"{INSIDE}/{MODULES}"),
            Bind(self.runtime / CACHE, f"{INSIDE}/{CACHE}", self.cache_writable),
        )

    def environment(self, mode: SandboxMode) -> Mapping[str, str]:
        """Give PATH and node's own variables. Raises Missing."""
        if mode == "none":
            return {"PATH": f"{node_prefix() / 'bin'}:{SYSTEM_PATH}", "NODE_NO_WARNINGS": "1"}
        return {
            "PATH": f"{NODE_INSIDE}/bin:{SYSTEM_PATH}",
            "NODE_NO_WARNINGS": "1",
            "NODE_COMPILE_CACHE": f"{INSIDE}/{CACHE}",
            "NODE_COMPILE_CACHE_PORTABLE": "1",
        }
