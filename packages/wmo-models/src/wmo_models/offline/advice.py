"""What a harness tells the worker in words. Each rule is a question about a text, answered by patterns over sentences.

The worker has nothing else to understand a prompt with, so the patterns are wide: any ordinary wording counts.
"""

import re
from collections.abc import Iterable

_NEGATION = re.compile(r"\b(not|never|don't|do not|without|avoid|no need)\b", re.IGNORECASE)


def _rules(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_ACT_RULES = _rules(
    r"\b(every|each)\b.{0,40}\b(reply|turn|message|response|step)\b.{0,60}\b(tools?|call)\b",
    r"\b(always|must)\b.{0,40}\b(call|use)\b.{0,30}\btools?\b",
    r"\bact\b.{0,30}\b(with|through|by)\b.{0,20}\btools?\b",
)
_NO_PROSE_RULES = _rules(
    r"\b(never|do not|don't)\b.{0,60}\b(prose|plain text|only text|text alone|without a tool|without calling)\b",
    r"\b(never|do not|don't)\b.{0,20}\b(describe|explain|say)\b.{0,40}\b(would|will|could|instead)\b",
)
_PLAN_RULES = _rules(
    r"\b(write|give|state|explain|describe|present|outline|lay out|set out|start with)\b.{0,80}"
    r"\b(plan|approach|strategy|explanation|reasoning)\b.{0,80}\b(before|first|in prose|in words)\b",
    r"\b(before|first)\b.{0,80}\b(write|give|state|explain|describe|present|outline|lay out|set out)\b.{0,80}"
    r"\b(plan|approach|strategy|explanation|reasoning|in prose|in words)\b",
)
_BRIEF_RULES = _rules(
    r"\b(look|explor|inspect|orient|search|survey)\w*\b.{0,60}"
    r"\b(briefly|quickly|(at most|no more than|only|up to|within) (a few|one|two|three|four|five|\d+))\b",
    r"\b(briefly|quickly|at most|no more than|only|up to)\b.{0,40}\b(look|explor|inspect|orient|survey)\w*",
    r"\b(start|begin)\b.{0,30}\b(work|working|task)\b.{0,30}\b(after|soon|early|at once|immediately|within)\b",
    r"\bafter\b.{0,20}\b(few|one|two|three|four|five|\d+)\b.{0,20}\b(commands|looks|calls|turns)\b.{0,20}"
    r"\b(start|begin|work)",
)
_PIECES = r"(pieces|parts|chunks|sections|several|multiple|appending|append|smaller)"
_WRITING = r"(writ\w+|files?|contents?)"
_PIECES_RULES = _rules(
    rf"\b{_WRITING}\b.{{0,80}}\b{_PIECES}\b",
    rf"\b(split|break|divide|{_PIECES})\b.{{0,40}}\b{_WRITING}\b",
)
_CHECK = r"(double-check|check|verify|test|validate|inspect|review|confirm)"
_CHECK_RULES = _rules(
    rf"\b{_CHECK}\b.{{0,40}}\b(your|you)\b",
    rf"\b(have|did) you\b.{{0,20}}\b{_CHECK}",
    rf"\bbefore\b.{{0,20}}\b(submit|finish|answer)\w*\b.{{0,80}}\b{_CHECK}\b",
    rf"\b{_CHECK}\b.{{0,80}}\bbefore\b.{{0,20}}\b(submit|finish|answer)\w*\b",
)


def demands_tools(system: str) -> bool:
    """Say whether a system prompt demands that every reply acts by a tool call."""
    return _told(system, _ACT_RULES) or _matches(system, _NO_PROSE_RULES)


def demands_plan(system: str) -> bool:
    """Say whether a system prompt asks for a written plan or explanation before the first action."""
    return _told(system, _PLAN_RULES)


def demands_brevity(system: str) -> bool:
    """Say whether a system prompt tells to look around only briefly and then to work."""
    return _matches(system, _BRIEF_RULES)


def demands_pieces(text: str) -> bool:
    """Say whether a text tells to write long files in several calls; general words about smaller calls do not do."""
    return _told(text, _PIECES_RULES)


def reminds_to_check(text: str) -> bool:
    """Say whether a text reminds the reader to check the work."""
    return _told(text, _CHECK_RULES)


def _told(text: str, rules: Iterable[re.Pattern[str]]) -> bool:
    """Say whether a sentence fits a rule and does not deny it."""
    return any(rule.search(part) and not _NEGATION.search(part) for part in _sentences(text) for rule in rules)


def _matches(text: str, rules: Iterable[re.Pattern[str]]) -> bool:
    return any(rule.search(part) for part in _sentences(text) for rule in rules)


def _sentences(text: str) -> list[str]:
    """Split at full stops, semicolons and blank lines; a single line break is only a wrapped line."""
    unwrapped = re.sub(r"[ \t]*\n(?![ \t]*(\n|[-*#]|\d+\.))[ \t]*", " ", text)
    return re.split(r"[.;!?:](?=\s|$)|\n", unwrapped)
