"""A small agent loop for tests: plays the worker against a scripted environment, as an ordinary harness does."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from wmo_models.offline.conversation import read_conversation
from wmo_models.offline.recipe import LongFile, Recipe
from wmo_models.offline.reply import utter
from wmo_models.offline.worker import next_move

TOOLS = ("bash", "read_file", "write_file", "submit")
PAYLOAD = "".join(f'{{"line": {number}, "text": "some words of a long file"}}\n' for number in range(400))
BASE = {
    "task": "t",
    "match": "the task of tests",
    "answer": "it is done",
    "look": ("ls -la",),
    "check": "./check.sh",
    "solve": "echo " + "right " * 60 + "> result",
}
RECIPES = {
    "none": Recipe(weakness="none", **BASE),
    "prose": Recipe(weakness="prose", **BASE),
    "unchecked": Recipe(weakness="unchecked", draft="echo " + "wrong " * 60 + "> result", **BASE),
    "long-write": Recipe(weakness="long-write", write=LongFile("/app/long.json", PAYLOAD), **{**BASE, "solve": ""}),
    "wanders": Recipe(weakness="wanders", wander=tuple(f"cat file-{number}" for number in range(24)), **BASE),
    "skill": Recipe(
        weakness="skill",
        draft="echo " + "wrong " * 60 + "> result",
        skill_words=("filter-branch", "reflog"),
        skill_topic=("git",),
        **BASE,
    ),
}


@pytest.fixture
def recipes() -> dict[str, Recipe]:
    return RECIPES


@pytest.fixture
def play() -> Callable[..., "Played"]:
    return play_episode


@dataclass
class Played:
    """What came of an episode: how it ended, whether the work was right, and every call and text in order."""

    stop: str = ""
    right: bool = False
    calls: list[tuple[str, dict]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    requests: list[dict] = field(default_factory=list)
    turns: int = 0

    @property
    def commands(self) -> list[str]:
        return [arguments.get("command", "") for name, arguments in self.calls if name == "bash"]

    @property
    def solved(self) -> bool:
        return self.right and self.stop == "submitted"


def play_episode(
    recipe: Recipe,
    *,
    system: str = "You are a coding agent.",
    tools: tuple[str, ...] = TOOLS,
    max_turns: int = 20,
    max_tokens: int | None = 4096,
    temperature: float = 0.7,
    skills: dict[str, str] | None = None,
    remind_at_submit: str = "",
    decorate: Callable[[str], str] = lambda result: result,
) -> Played:
    """Play one episode. `remind_at_submit` answers the first submit; `decorate` edits every result."""
    played = Played()
    messages: list[dict] = [
        {"role": "system", "content": system},
        {"role": "user", "content": "Please do the task\nof tests well."},
    ]
    files: dict[str, str] = {}
    nudges = submits = 0
    while played.turns < max_turns:
        played.turns += 1
        played.requests.append({"messages": list(messages), "max_tokens": max_tokens, "temperature": temperature})
        conversation = read_conversation(messages)
        reply = utter(next_move(conversation, tools, max_tokens, (recipe,)), max_tokens, temperature)
        played.texts.append(reply.text)
        arguments = _arguments(reply.arguments) if reply.finish_reason == "tool_calls" else None
        if arguments is None:
            if nudges == 3:
                played.stop = "output_truncated" if reply.finish_reason == "length" else "no_tool_call"
                return played
            nudges += 1
            messages += [{"role": "assistant", "content": reply.text}, {"role": "user", "content": "Go on."}]
            continue
        nudges = 0
        played.calls.append((reply.tool, arguments))
        call = {"id": f"call_{conversation.call_count + 1}", "function": {"name": reply.tool, "arguments": "{}"}}
        call["function"]["arguments"] = json.dumps(arguments)  # as pi re-serialises it
        messages.append({"role": "assistant", "content": reply.text, "tool_calls": [call]})
        if reply.tool == "submit":
            submits += 1
            if not (remind_at_submit and submits == 1):
                played.stop = "submitted"
                played.right = _right(recipe, files)
                return played
            result = remind_at_submit
        else:
            result = _execute(recipe, reply.tool, arguments, files, skills or {})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": decorate(result)})
    played.stop = "max_turns"
    return played


def _arguments(text: str) -> dict | None:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _right(recipe: Recipe, files: dict[str, str]) -> bool:
    if recipe.write:
        return files.get(recipe.write.path) == recipe.write.payload
    return files.get("result") == "right"


def _execute(recipe: Recipe, tool: str, arguments: dict, files: dict[str, str], skills: dict[str, str]) -> str:
    if tool == "write_file":
        files[arguments["path"]] = arguments["content"]
        return "written"
    if tool == "read_skill":
        return skills[arguments["name"]]
    command = arguments["command"]
    if command == recipe.solve:
        files["result"] = "right"
    elif command == recipe.draft:
        files["result"] = "wrong"
    elif command == recipe.check:
        return "CHECK OK" if _right(recipe, files) else "CHECK FAILED: it is wrong"
    elif command.startswith("cat >"):
        head, *lines, _end = command.split("\n")
        path = head.split("'")[1]
        old = files.get(path, "") if ">>" in head else ""
        files[path] = old + "".join(f"{line}\n" for line in lines)
    return ""
