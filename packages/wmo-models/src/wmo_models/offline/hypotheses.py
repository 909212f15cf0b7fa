"""What the optimizer can think of: for a kind of failure, an edit of the harness that may mend it.

An edit is a bash command that works on candidate/ and says "edited" where it did.
"""

import re
from dataclasses import dataclass

from wmo_models.offline.evidence import Failures
from wmo_models.offline.shell_text import load_command

EDITED = "edited candidate/"
SUMMARY_CHARACTERS = 200


@dataclass(frozen=True)
class Hypothesis:
    """An idea: failures with one of `stop_reasons` are mended by `edit`.

    `summary` names the change and is how the idea is found again in the history; `observed` ends the sentence "n of m
    failing trials ...". `look` shows what is to be edited. The idea comes up only once one whose summary holds `after`
    was tried, where the verifiers' words match `words`, and where `request` stands in the request.
    """

    stop_reasons: frozenset[str]
    summary: str
    observed: str
    look: str
    edit: str
    after: str = ""
    words: re.Pattern[str] = re.compile("")
    request: str = ""

    def count(self, failures: Failures) -> int:
        """Give how many failing trials speak for it."""
        if not self.words.search(failures.words):
            return 0
        return sum(failures.stop_reasons.get(reason, 0) for reason in self.stop_reasons)

    def answer(self, failures: Failures) -> str:
        """Give the one line that the optimizer submits: what was changed, and why."""
        line = f"{self.summary}; {self.count(failures)} of {failures.total} failing trials {self.observed}"
        return line[:SUMMARY_CHARACTERS]


def _add_rule(rule: str) -> str:
    return load_command("add-rule").replace("RULE", rule)


_CHECK_ADVICE = "SYSTEM.md: always check the work before submitting"
_SUBMIT_REMINDER = "the first submit is answered with a reminder to check"
_WRITTEN_PLAN = "SYSTEM.md: a written plan comes before the first action"
_REFUSED = "submitted work that did not pass"
_PROMPT = "cat candidate/SYSTEM.md"

HYPOTHESES = (
    Hypothesis(
        frozenset({"no_tool_call"}),
        "SYSTEM.md: every reply must contain a tool call",
        "ended in prose (no_tool_call)",
        _PROMPT,
        _add_rule("Every reply must contain a tool call: act with the tools, never only describe what you would do."),
    ),
    Hypothesis(
        frozenset({"submitted"}),
        _CHECK_ADVICE,
        _REFUSED,
        _PROMPT,
        _add_rule("Always check your work before you submit."),
    ),
    Hypothesis(
        frozenset({"submitted"}),
        f"agent-loop.ts: {_SUBMIT_REMINDER}",
        f"{_REFUSED}, and advice in the prompt was tried",
        load_command("read-loop"),
        load_command("submit-gate"),
        after=_CHECK_ADVICE,
        request="`src/**/*.ts`",
    ),
    Hypothesis(
        frozenset({"submitted"}),
        f"runtime.py: {_SUBMIT_REMINDER}",
        f"{_REFUSED}, and advice in the prompt was tried",
        "ls candidate",
        load_command("kit-submit-gate"),
        after=_CHECK_ADVICE,
        request="`runtime.py`",
    ),
    Hypothesis(
        frozenset({"output_truncated", "unparsed_tool_call"}),
        "config.toml: max_output_tokens is doubled",
        "were cut at the output limit",
        "cat candidate/config.toml",
        load_command("double-output-cap"),
    ),
    Hypothesis(
        frozenset({"max_turns"}),
        _WRITTEN_PLAN,
        "used up their turns",
        _PROMPT,
        _add_rule("Before you act, write a detailed plan in prose: what you will look at, what you will do, and why."),
    ),
    Hypothesis(
        frozenset({"max_turns"}),
        "SYSTEM.md: look around with at most three commands, then work",
        "used up their turns, and a plan was tried",
        _PROMPT,
        _add_rule("Look around with at most three commands, then start the work."),
        after=_WRITTEN_PLAN,
    ),
    Hypothesis(
        frozenset({"submitted"}),
        "skills/git-history-surgery.md: a procedure for rewriting a git history",
        f"{_REFUSED}, some about git",
        "ls candidate candidate/skills",
        load_command("git-skill"),
        after=_SUBMIT_REMINDER,
        words=re.compile(r"\bgit\b", re.IGNORECASE),
    ),
)
"""In the order in which they are tried where the evidence for them is equal."""


def rank(failures: Failures, summaries: list[str], request: str) -> list[Hypothesis]:
    """Give the hypotheses that the evidence speaks for and that no earlier summary names, the most promising first.

    `request` is the text of REQUEST.md, which says of what files a candidate may be made.

    Trials without any action come first: they tell nothing about the rest of the harness. Then the number of trials
    counts.
    """

    def tried(summary: str) -> bool:
        return any(summary in past for past in summaries)

    open_ones = [
        idea
        for idea in HYPOTHESES
        if idea.request in request
        and not tried(idea.summary)
        and (not idea.after or tried(idea.after))
        and idea.count(failures) > 0
    ]
    return sorted(open_ones, key=lambda idea: ("no_tool_call" not in idea.stop_reasons, -idea.count(failures)))
