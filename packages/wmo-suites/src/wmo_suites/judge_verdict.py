"""A judge's reply to its verdicts. Strict: what is not exactly as asked for counts as not passed. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from wmo_contracts.chat import ChatReply
from wmo_contracts.score import CellTests
from wmo_contracts.verdict import AssertionVerdict, VerdictDocument
from wmo_kit.errors import shown

from wmo_suites.json_reply import parse_reply

REASON_CHARACTERS = 2_000
"""What is kept of a reason."""
WORD_CHARACTERS = 40
REFUSED = "the judge refused this transcript"
QUOTED_WORDS = 4
WORD = re.compile(r"\w+")


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    assertion: str
    passed: bool
    reason: str = ""


def read_verdict(reply: ChatReply, assertions: Sequence[str]) -> VerdictDocument:
    """Give the verdicts of `reply` on `assertions` (all different), in their order.

    An assertion without exactly one well-formed entry has no valid verdict and is not passed. A reply that has anything
    else than one such entry for each passes nothing as a whole, and the note says what is wrong with it.
    """
    try:
        entries, malformed = _entries(reply)
    except ValueError as error:
        return _document(assertions, {}, [str(error)])
    counts = Counter(entry.assertion for entry in entries)
    valid = {entry.assertion: entry for entry in entries if counts[entry.assertion] == 1}
    faults = {
        "malformed": malformed,
        "of assertions that were not asked for": sum(counts[text] for text in counts if text not in assertions),
        "more than one for the same assertion": sum(counts[text] > 1 for text in counts if text in assertions),
    }
    missing = sum(text not in counts for text in assertions)
    problems = [f"entries {what}: {number}" for what, number in faults.items() if number]
    return _document(assertions, valid, problems + ([f"assertions without an entry: {missing}"] if missing else []))


def refused_verdict(assertions: Sequence[str], words: str) -> VerdictDocument:
    """Give the verdict where the judge's endpoint refuses what this trial has it asked: nothing is passed.

    `words` are the endpoint's. They stand in the note, where proposers read them, unless they quote an assertion.
    """
    told = "its words quote an assertion" if _quotes(words, assertions) else shown(words, REASON_CHARACTERS)
    verdicts = tuple(_verdict(text, None) for text in assertions)
    return VerdictDocument(passed=False, assertions=verdicts, note=f"{REFUSED}: {told}")


def _quotes(words: str, assertions: Sequence[str]) -> bool:
    """Say whether QUOTED_WORDS in a row of an assertion, or all of a shorter one, stand in `words`."""
    said = f" {' '.join(WORD.findall(words.lower()))} "
    for text in assertions:
        own = WORD.findall(text.lower())
        runs = [own[start : start + QUOTED_WORDS] for start in range(max(len(own) - QUOTED_WORDS + 1, 1))]
        if any(run and f" {' '.join(run)} " in said for run in runs):
            return True
    return False


def count_assertions(verdict: VerdictDocument) -> CellTests | None:
    """Count the assertions as a verifier's tests are counted; None where none has a valid verdict."""
    resolved = sum(one.valid for one in verdict.assertions)
    if resolved == 0:
        return None
    passed = sum(one.passed for one in verdict.assertions)
    return CellTests(passed=passed, resolved=resolved, unresolved=len(verdict.assertions) - resolved)


def _entries(reply: ChatReply) -> tuple[list[_Entry], int]:
    """Give the well-formed entries and the number of others. Raises ValueError that says why the reply is none."""
    if reply.finish_reason == "length":
        raise ValueError("it was cut at its output limit")
    if reply.tool_calls:
        raise ValueError("it is a tool call")
    if reply.refusal:
        raise ValueError("it has a refusal")
    if reply.finish_reason != "stop":
        raise ValueError(f"it ended with '{shown(reply.finish_reason, WORD_CHARACTERS)}' and not with 'stop'")
    value = _json(reply.content or "")
    if not isinstance(value, dict) or value.keys() != {"verdicts"} or not isinstance(value["verdicts"], list):
        raise ValueError("it is no object with a list 'verdicts' and nothing else")
    entries, malformed = [], 0
    for item in value["verdicts"]:
        try:
            entries.append(_Entry.model_validate(item))
        except ValidationError:
            malformed += 1
    return entries, malformed


def _json(text: str) -> Any:
    try:
        return parse_reply(text)
    except ValueError as error:
        raise ValueError("it is no JSON" if text.strip() else "it is empty") from error


def _document(assertions: Sequence[str], valid: dict[str, _Entry], problems: list[str]) -> VerdictDocument:
    note = f"the judge's reply is not as asked for: {'; '.join(problems)}" if problems else ""
    verdicts = tuple(_verdict(text, valid.get(text)) for text in assertions)
    return VerdictDocument(passed=not note and all(one.passed for one in verdicts), assertions=verdicts, note=note)


def _verdict(assertion: str, entry: _Entry | None) -> AssertionVerdict:
    if entry is None:
        return AssertionVerdict(assertion=assertion, passed=False, valid=False)
    reason = entry.reason[:REASON_CHARACTERS]
    return AssertionVerdict(assertion=assertion, passed=entry.passed, valid=True, reason=reason)
