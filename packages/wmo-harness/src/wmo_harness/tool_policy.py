"""The tools an agent may have, and what the model is told about them (design 4)."""

from collections.abc import Iterable

from wmo_contracts.episode import ToolSpec

SUBMIT = "submit"
READ_SKILL = "read_skill"

_SPECS: dict[str, tuple[str, dict[str, str]]] = {
    "bash": (
        "Run a command in a fresh bash shell in the workspace. Gives its output and exit code.",
        {"command": "The command line to run."},
    ),
    "read_file": (
        "Read a text file.",
        {"path": "The file, absolute or relative to the workspace."},
    ),
    "write_file": (
        "Write a text file, replacing what it held. Missing directories are made.",
        {"path": "The file, absolute or relative to the workspace.", "content": "The whole new content."},
    ),
    SUBMIT: (
        "End the task and hand in the answer. Call it once, when the work is done and checked.",
        {"answer": "The answer, or one sentence on what was done."},
    ),
    READ_SKILL: (
        "Read a skill: a written procedure for one kind of work.",
        {"name": "The skill's name, as the index lists it."},
    ),
}

KNOWN_TOOLS: tuple[str, ...] = tuple(_SPECS)
"""Every tool name a harness may list."""


def tool_specs(names: Iterable[str]) -> list[ToolSpec]:
    """Give the specification of each named tool in order: JSON Schema with string arguments, all of them required.

    Raises KeyError for a name outside KNOWN_TOOLS.
    """
    return [_spec(name) for name in names]


def _spec(name: str) -> ToolSpec:
    description, arguments = _SPECS[name]
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in arguments.items()},
        "required": list(arguments),
        "additionalProperties": False,
    }
    return ToolSpec(name=name, description=description, parameters=parameters)
