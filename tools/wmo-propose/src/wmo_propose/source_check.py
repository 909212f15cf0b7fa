"""Asks node whether a candidate's source parses and links, in the same box that episodes run in.

The work is gate.mjs's, which see; no line of the candidate is run.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.base import Part
from wmo_contracts.episode import SandboxMode
from wmo_episode.layout import node_folder
from wmo_episode.node_interpreter import Node
from wmo_episode.runner import Runner
from wmo_harness.source_tree import SourceTree
from wmo_kit.child import ChildResult, Flag
from wmo_kit.documents import parse_bytes, validate
from wmo_kit.errors import BadDocument, Cancelled

SCRIPT = Path(__file__).parent / "data" / "gate.mjs"
CHECK_WALL_S = 120.0
"""Parsing 8 MiB takes node a few seconds; a source that takes longer than this is none to run either."""
NOTE_CHARS = 500


class GateAnswer(Part):
    """What gate.mjs prints."""

    problems: tuple[str, ...]


@dataclass(frozen=True)
class SourceGate:
    """Checks trees with the runtime of vendor/runtime, until `cancel`; `work` is where their folders are made."""

    runtime: Path
    mode: SandboxMode
    work: Path
    cancel: Flag

    def __call__(self, tree: SourceTree, link: bool) -> Sequence[str]:
        """Give every problem of the tree's source; with `link`, of the imports that the entry reaches, too.

        Raises Missing where node or bubblewrap cannot be started, Cancelled, OSError.
        """
        node = Node(self.runtime)
        with node_folder(tree, node.modules(self.mode), self.work) as folder:
            shutil.copyfile(SCRIPT, folder / SCRIPT.name)
            command = ["node", "--experimental-vm-modules", SCRIPT.name, ".", *(["--link"] if link else [])]
            result = Runner(node, self.mode).run(command, folder, timeout_s=CHECK_WALL_S, stop=self.cancel)
        if result.cancelled:
            raise Cancelled("the check of the source was cancelled")
        return _problems(result)


def _problems(result: ChildResult) -> Sequence[str]:
    """Read node's answer. No answer counts against the candidate: the seed's source gets one from the same node."""
    if result.timed_out:
        return [f"node could not check the source in {CHECK_WALL_S:g} s"]
    try:
        return validate(parse_bytes(result.stdout, "gate.mjs"), GateAnswer, "gate.mjs").problems
    except BadDocument:
        said = " ".join(result.stderr.decode(errors="replace").split())[-NOTE_CHARS:]
        return [f"node could not check the source: it ended with {result.returncode}: {said}"]
