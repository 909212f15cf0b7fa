"""Warms the compile cache: one episode of the seed harness, so that later ones find their code compiled.

Node keys the cache by path and content. The box shows every episode at one place, so what the seed's files compiled to
holds for each candidate's unchanged files as well; TypeScript is then not even stripped again. In later boxes the cache
is read-only: no candidate can put code there that another one would run.
"""

import json
from pathlib import Path

from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Action, Limits, Observation
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import parse_tree
from wmo_harness.tool_policy import SUBMIT, tool_specs

from wmo_episode.layout import node_folder
from wmo_episode.node_interpreter import Node
from wmo_episode.patience import Patience
from wmo_episode.runner import AnyOf, Runner
from wmo_episode.runtime import PiRuntime
from wmo_episode.server import Shim
from wmo_episode.session import Brief, Session

WARM_TIMEOUT_S = 60.0


def warm_compile_cache(runtime: Path, seed: SourceTree) -> bool:
    """Fill `runtime`/compile-cache (runtime as in PiRuntime). Says whether the episode ended as it should.

    Raises Missing where node or bubblewrap is not there, OSError.
    """
    spec = parse_tree(seed)
    brief = Brief("warm", "Warm up.", spec.system, tuple(tool_specs(spec.tools)), (), Limits())
    session = Session(brief, _OneCommand(), _NoEnvironment())
    node = Node(runtime, cache_writable=True)
    with (
        node_folder(seed, node.modules("bwrap"), None) as folder,
        Runner(node, "bwrap").started(PiRuntime.ENTRY_COMMAND, folder) as agent,
    ):
        shim = Shim(session, agent.door)
        try:
            agent.process.child.feed(b"")
            agent.process.wait(WARM_TIMEOUT_S, AnyOf(()))  # node writes the cache when it ends by itself, after /done
        finally:
            shim.close(Patience(0))
    return session.done is not None


class _OneCommand:
    """A model that asks for one command and then submits: the paths of pi that every episode takes."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the next of the two replies."""
        acted = any(message["role"] == "tool" for message in request.messages)
        name, arguments = (SUBMIT, {"answer": ""}) if acted else ("bash", {"command": "true"})
        call = ToolCall(id=name, name=name, arguments=json.dumps(arguments))
        return ChatReply(content=None, tool_calls=(call,), finish_reason="tool_calls", model="warm")


class _NoEnvironment:
    """An environment where nothing happens."""

    def execute(self, _action: Action) -> Observation:
        """Do nothing."""
        return Observation(content="")

    def close(self) -> None:
        """Do nothing."""
