"""What a harness's `run(kit)` is given: the task, the model, the tools, and the ways to end."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from .shim_client import ShimClient, error_message
from .tool_call import BadToolCall, ToolCall, parse_tool_call

SUBMIT = "submit"
ROLES = ("system", "user", "assistant")


class Ended(BaseException):
    """The episode is over: what is left of `run` does not count. No Exception, so that few handlers take it."""


class Observation(NamedTuple):
    """What came back from a tool."""

    content: str
    is_error: bool


class Kit:
    """One episode, seen from inside.

    `instruction` is the task; `system_prompt` is SYSTEM.md, where there are skills with their index; `skills_index`
    that index alone, a line `- name: description` each; `tools_text` tells a model the tools and how to write a call;
    `max_turns` and `max_output_tokens` are config.toml's. `finish_reason` is the last completion's: "length" says that
    it was cut off at the output limit.
    """

    BadToolCall = BadToolCall

    def __init__(self, client: ShimClient) -> None:
        """Ask the shim for the task. Raises OSError."""
        self._client = client
        _, task = client.call("GET", "/task")
        self.instruction: str = task["instruction"]
        self.system_prompt: str = task["system"]
        self.max_turns: int = task["max_turns"]
        self.max_output_tokens: int = task["max_output_tokens"]
        self.tools_text = tools_text(task["tools"])
        self.skills_index = "\n".join(f"- {skill['name']}: {skill['description']}" for skill in task["skills"])
        self.finish_reason = ""
        self._last_text: str | None = None

    def complete(self, system: str, messages: Iterable[tuple[str, str] | Mapping[str, str]]) -> str:
        """Ask the model; give its text.

        `messages` are (role, text) pairs, or {"role", "content"} objects, of the roles user and assistant. Ends the
        episode where the model failed, and where all model calls of the episode are used. Raises ValueError for
        messages that are none.
        """
        spoken = [_message(message) for message in messages]
        if system:
            spoken.insert(0, {"role": "system", "content": system})
        status, answer = self._client.call("POST", "/v1/chat/completions", {"messages": spoken})
        if status in (400, 413):
            raise ValueError(f"bad messages: {error_message(answer)}")
        if status != 200:
            raise Ended  # the shim knows why, and says so in the result
        choice = answer["choices"][0]
        self.finish_reason = choice["finish_reason"]
        self._last_text = choice["message"]["content"] or ""
        return self._last_text

    def parse_tool_call(self, text: str) -> ToolCall:
        """Give the tool call in a model's reply: the first JSON object of it, {"tool": name, "arguments": {...}}.

        Raises BadToolCall (a ValueError, also `kit.BadToolCall`), whose text tells the model what is wrong and whose
        `reason` is the stop reason for an episode that ends so. A reply that was cut off has no call.
        """
        cut = self.finish_reason == "length" and text == self._last_text
        return parse_tool_call(text, self.max_output_tokens if cut else None)

    def execute(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        """Use a tool; what is wrong with the call is an observation too. The tool `submit` ends the episode."""
        if tool == SUBMIT:
            if not isinstance(arguments.get("answer"), str):
                return Observation("argument 'answer' must be a string", is_error=True)
            self.submit(arguments["answer"])
        status, answer = self._client.call("POST", "/tool", {"name": tool, "arguments": dict(arguments)})
        if status in (400, 413):
            return Observation(error_message(answer), is_error=True)
        if status != 200:
            raise Ended
        return Observation(answer["content"], answer["is_error"])

    def read_skill(self, name: str) -> str:
        """Give a skill's text. Raises ValueError where there is none of that name."""
        observation = self.execute("read_skill", {"name": name})
        if observation.is_error:
            raise ValueError(observation.content)
        return observation.content

    def submit(self, answer: str) -> NoReturn:
        """End the episode with `answer`; returning it from `run` does the same."""
        self._done(answer, SUBMIT, "")

    def stop(self, reason: str, note: str) -> NoReturn:
        """End the episode without an answer. `reason` is a stop reason, as no_tool_call; `note` explains it."""
        self._done("", reason, note)

    def _done(self, answer: str, reason: str, note: str) -> NoReturn:
        self._client.call("POST", "/done", {"answer": answer, "reason": reason, "note": note})
        raise Ended


def tools_text(tools: list[dict[str, Any]]) -> str:
    """Describe tools ({name, description, parameters}) to a model that is not offered them as functions."""
    lines = [
        "To use a tool, write one JSON object of this form:",
        '{"tool": "NAME", "arguments": {"ARGUMENT": "VALUE"}}',
        "Write one at a time: the next message is its result. Values are strings; a line break in one is \\n.",
        "The tools are:",
    ]
    for tool in tools:
        properties, arguments = tool["parameters"]["properties"], tool["parameters"]["required"]  # in their own order
        words = " ".join(f"{name}: {properties[name]['description']}" for name in arguments)
        lines.append(f"- {tool['name']}({', '.join(arguments)}): {tool['description']} ({words})")
    return "\n".join(lines)


def _message(message: tuple[str, str] | Mapping[str, str]) -> dict[str, str]:
    role, content = (message["role"], message["content"]) if isinstance(message, Mapping) else message
    if role not in ROLES or not isinstance(content, str):
        raise ValueError(f"a message is a role ({', '.join(ROLES)}) and a text, not {message!r:.200}")
    return {"role": role, "content": content}
