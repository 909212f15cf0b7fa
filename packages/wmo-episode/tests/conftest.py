"""Real node, real pi, a real shim; only the model is a script and the environment a dictionary in memory."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from wmo_contracts.chat import ChatReply, ChatRequest, ToolCall
from wmo_contracts.episode import Action, Limits, Observation, Skill, Usage
from wmo_episode.runtime import PiRuntime
from wmo_episode.session import Brief, Session
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.tool_policy import tool_specs
from wmo_models.provider import Provider, ProviderError
from wmo_suites.environment import Environment


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


@pytest.fixture
def call() -> Callable[..., ToolCall]:
    """Gives a tool call; keyword arguments are its arguments."""

    def make(name: str, number: int = 0, **arguments: str) -> ToolCall:
        return ToolCall(id=f"call-{number}", name=name, arguments=json.dumps(arguments))

    return make


@pytest.fixture
def says() -> Callable[..., ChatReply]:
    """Gives a reply with tool calls, or one with text."""

    def make(*calls: ToolCall, text: str | None = None, finish: str | None = None) -> ChatReply:
        finish = finish or ("tool_calls" if calls else "stop")
        usage = Usage(calls=1, prompt_tokens=10, completion_tokens=2)
        return ChatReply(content=text, tool_calls=calls, finish_reason=finish, model="scripted", usage=usage)

    return make


@pytest.fixture
def scripted() -> type[ScriptedProvider]:
    return ScriptedProvider


@pytest.fixture(scope="session")
def vendor() -> Path:
    return find_vendor_dir(None, Path(__file__))


@pytest.fixture(scope="session")
def seed(vendor: Path) -> SourceTree:
    return seed_tree(vendor)


@pytest.fixture
def environment() -> MemoryEnvironment:
    return MemoryEnvironment()


@pytest.fixture
def make_runtime(vendor: Path, seed: SourceTree, tmp_path: Path) -> Iterator[Callable[..., PiRuntime]]:
    """Gives a maker of runtimes; at the end, no runner folder may be left."""

    def make(provider: Provider, *, edits: Mapping[str, str] | None = None, mode: str = "bwrap", **limits: float):
        return PiRuntime(
            provider,
            files=SourceTree.from_mapping(seed.as_mapping() | dict(edits or {})),
            tools=tuple(tool_specs(["bash", "read_file", "write_file", "submit"])),
            system="You act.",
            runtime=vendor / "runtime",
            limits=Limits(**limits),
            mode=mode,
            work=tmp_path,
        )

    yield make
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def make_session(environment: MemoryEnvironment) -> Callable[..., Session]:
    """Gives a maker of sessions with every tool and one skill."""

    def make(provider: Provider | None = None, place: Environment | None = None, **limits: float) -> Session:
        tools = tuple(tool_specs(["bash", "read_file", "write_file", "submit", "read_skill"]))
        skills = (Skill(name="count-rows", description="counting", content="wc -l"),)
        brief = Brief("a-task", "Do it.", "You act.", tools, skills, Limits(**limits))
        return Session(brief, provider or ScriptedProvider(), place or environment)

    return make
