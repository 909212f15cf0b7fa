"""The world persona: it answers one tool call as a computer would, from what the prompt holds and nothing else.

It knows no task. Where the prompt has the very same call, recorded on a real machine, it repeats what came back then.
Else it guesses plainly: a file that it was told of is read back, another does not exist, a command says nothing.
"""

import json
from typing import Any

from wmo_models.offline.conversation import Conversation
from wmo_models.offline.reply import Move

NO_CALL = "I play a computer and answer one tool call, but I see none: send a JSON object with a 'call'."
NOTE_CHARACTERS = 1000
"""The note keeps the latest of what it says."""
SHOWN_CHARACTERS = 80


def next_move(conversation: Conversation) -> Move:
    """Give the observation for the call in the first user message, as the JSON object that is asked for."""
    scene = _object(conversation.instruction)
    call = scene.get("call")
    if not isinstance(call, dict) or not isinstance(call.get("arguments"), dict):
        return Move(NO_CALL)
    content, is_error = _recorded(scene) or _guess(scene, str(call.get("tool")), call["arguments"])
    note = _note(str(scene.get("state_note", "")), str(call.get("tool")), call["arguments"])
    told = {"content": content, "is_error": is_error, "state_note": note}
    return Move(json.dumps(told, ensure_ascii=False))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _recorded(scene: dict[str, Any]) -> tuple[str, bool] | None:
    """Give what the nearest recorded example of this very call says; None where there is none."""
    for example in _objects(scene.get("recorded_examples")):
        if example.get("same_call") is True:
            return str(example.get("content", "")), example.get("is_error") is True
    return None


def _guess(scene: dict[str, Any], tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    path = str(arguments.get("path", ""))
    if tool == "write_file":
        return f"wrote {len(str(arguments.get('content', '')).encode())} bytes to '{path}'", False
    if tool != "read_file":
        return "", False
    for step in reversed(_objects(scene.get("last_steps"))):
        call = step.get("call")
        written = call.get("arguments") if isinstance(call, dict) and call.get("tool") == "write_file" else None
        if isinstance(written, dict) and written.get("path") == path:
            return str(written.get("content", "")), False
    return f"cannot read '{path}': no such file or directory", True


def _note(old: str, tool: str, arguments: dict[str, Any]) -> str:
    """Add the call to the note."""
    first = str(next(iter(arguments.values()), "")).partition("\n")[0][:SHOWN_CHARACTERS]
    return "\n".join(filter(None, [old, f"{tool}: {first}"]))[-NOTE_CHARACTERS:]
