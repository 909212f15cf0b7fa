"""Real node, real pi, a real shim; only the model is a script and the environment a dictionary in memory."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Action, Limits, Observation, Usage
from wmo_episode.runtime import PiRuntime
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.tool_policy import tool_specs
from wmo_models.provider import ProviderError


class ScriptedProvider:
    """Gives the scripted replies in order, the last one for ever; a reply may be an error to raise."""

    def __init__(self, *replies: ChatReply | ProviderError) -> None:
        self.replies = replies
        self.requests: list[ChatRequest] = []
        self._lock = threading.Lock()

    def complete(self, request: ChatRequest) -> ChatReply:
        with self._lock:
            self.requests.append(request)
            reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, ProviderError):
            raise reply
        return reply


class MemoryEnvironment:
    """Echoes commands; keeps the order in which they came."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.closed = False

    def execute(self, action: Action) -> Observation:
        self.actions.append(action)
        return Observation(content=f"ran {action.arguments.get('command')}", exit_code=0)

    def close(self) -> None:
        self.closed = True


def call(name: str, number: int = 0, **arguments: str) -> ToolCall:
    return ToolCall(id=f"call-{number}", name=name, arguments=json.dumps(arguments))


def says(*calls: ToolCall, text: str | None = None, finish: str | None = None) -> ChatReply:
    finish = finish or ("tool_calls" if calls else "stop")
    usage = Usage(calls=1, prompt_tokens=10, completion_tokens=2)
    return ChatReply(content=text, tool_calls=calls, finish_reason=finish, model="scripted", usage=usage)


@pytest.fixture(scope="session")
def vendor() -> Path:
    return find_vendor_dir(None, Path(__file__))


@pytest.fixture(scope="session")
def seed(vendor: Path) -> SourceTree:
    return seed_tree(vendor)


@pytest.fixture
def environment() -> MemoryEnvironment:
    return MemoryEnvironment()


RuntimeMaker = Callable[..., PiRuntime]


@pytest.fixture
def make_runtime(vendor: Path, seed: SourceTree, tmp_path: Path) -> Iterator[RuntimeMaker]:
    def make(provider: ScriptedProvider, files: SourceTree = seed, mode: str = "bwrap", **limits: float) -> PiRuntime:
        tools = tuple(tool_specs(["bash", "read_file", "write_file", "submit"]))
        return PiRuntime(
            provider,
            files=files,
            tools=tools,
            system="You act.",
            runtime=vendor / "runtime",
            limits=Limits(**limits),
            mode=mode,
            work=tmp_path,
        )

    yield make
    assert list(tmp_path.glob("episode-*")) == []
