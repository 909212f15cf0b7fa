"""The tools of every environment, and what is wrong with a call of one: the same words wherever an agent acts."""

import os

from wmo_contracts.episode import Action

ARGUMENTS = {"bash": ("command",), "read_file": ("path",), "write_file": ("path", "content")}
COMMAND_MAX_BYTES = 131_071
"""Linux takes no longer single argument (MAX_ARG_STRLEN, 32 pages, with its NUL)."""


def call_problem(action: Action) -> str:
    """Say what is wrong with a tool call, "" where nothing is."""
    wanted = ARGUMENTS.get(action.name)
    if action.kind != "tool" or wanted is None:
        return f"unknown tool '{action.name}': there are {', '.join(ARGUMENTS)}"
    if set(action.arguments) != set(wanted):
        given = ", ".join(sorted(action.arguments)) or "none"
        return f"bad arguments for '{action.name}': it takes exactly {', '.join(wanted)}; given: {given}"
    for name in wanted:
        value = action.arguments[name]
        if not isinstance(value, str):
            return f"bad argument '{name}' for '{action.name}': not a string"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return f"bad argument '{name}' for '{action.name}': it holds a lone surrogate"
        if name != "content" and "\0" in value:
            return f"bad argument '{name}' for '{action.name}': it holds a NUL character"
    if action.name == "bash" and len(os.fsencode(action.arguments["command"])) > COMMAND_MAX_BYTES:
        return f"command too long: more than {COMMAND_MAX_BYTES} bytes; use write_file for long content"
    return ""
