"""The judge persona: it decides assertions by the words that they quote, and by nothing else.

Every `quoted` part of an assertion must stand in the answer, where the assertion begins with "The answer", else in the
transcript, as they stand in the request: a transcript may be cut. What quotes nothing it cannot judge, and fails.
"""

import json
import re

from wmo_models.offline.conversation import Conversation
from wmo_models.offline.reply import Move

STRANGER = "I only know how to judge assertions that stand between fences, with an answer and a transcript."
ABOUT_ANSWER = "The answer"
PARTS = ("ASSERTIONS", "ANSWER", "TRANSCRIPT")
_OPENING = re.compile(r"<<<ASSERTIONS ([0-9a-f]{32})\n")
_QUOTED = re.compile(r"`([^`]+)`")


def next_move(conversation: Conversation) -> Move:
    """Give the judge's verdicts on the assertions of the first user message, as the JSON that it asks for."""
    parts = _parts(conversation.instruction)
    if parts is None:
        return Move(STRANGER)
    assertions = [text for text in json.loads(parts["ASSERTIONS"]) if isinstance(text, str)]
    verdicts = [_verdict(text, parts["ANSWER"], parts["TRANSCRIPT"]) for text in assertions]
    return Move(json.dumps({"verdicts": verdicts}, ensure_ascii=False))


def _parts(message: str) -> dict[str, str] | None:
    """Give the parts by name; None where the message does not begin with one or lacks one."""
    opening = _OPENING.match(message)
    if opening is None:
        return None
    mark = opening[1]
    found = {
        name: re.search(rf"^<<<{name} {mark}\n(.*?)\n{mark} {name}>>>$", message, re.DOTALL | re.MULTILINE)
        for name in PARTS
    }
    parts = {name: match[1] for name, match in found.items() if match is not None}
    return parts if len(parts) == len(PARTS) and _is_list(parts["ASSERTIONS"]) else None


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _verdict(assertion: str, answer: str, transcript: str) -> dict[str, object]:
    about_answer = assertion.startswith(ABOUT_ANSWER)
    where, text = ("answer", answer) if about_answer else ("transcript", transcript)
    quoted = _QUOTED.findall(assertion)
    missing = [part for part in quoted if part not in text]
    if not quoted:
        reason = "cannot judge: nothing is quoted"
    elif missing:
        reason = f"not in the {where}: {missing[0]}"
    else:
        reason = f"all that is quoted is in the {where}"
    return {"assertion": assertion, "passed": bool(quoted) and not missing, "reason": reason}
