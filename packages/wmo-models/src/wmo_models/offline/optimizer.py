"""The optimizer persona: a proposer that reads a run's history with bash and edits candidate/ with bash.

Like the worker it is a pure function of the conversation: it does the first step of its routine whose command it has
not run yet, and knows only what earlier commands printed.
"""

from collections.abc import Collection

from wmo_models.offline.conversation import Conversation
from wmo_models.offline.evidence import (
    READ_HISTORY,
    READ_REQUEST,
    Failures,
    PastCandidate,
    parse_failures,
    parse_history,
    read_failures,
)
from wmo_models.offline.hypotheses import EDITED, Hypothesis, rank
from wmo_models.offline.reply import Move, bash, submit
from wmo_models.offline.shell_text import load_command

REQUEST = "REQUEST.md"
STRANGER = "I only know how to improve a harness as asked for in a file REQUEST.md, with the tools bash and submit."


def next_move(conversation: Conversation, tools: Collection[str]) -> Move:
    """Give the optimizer's next message. `tools` are the names on offer."""
    if not {"bash", "submit"} <= set(tools) or REQUEST not in conversation.system + conversation.instruction:
        return Move(STRANGER)
    return _read_history(conversation)


def _read_history(conversation: Conversation) -> Move:
    for text, command in (("I read the request.", READ_REQUEST), ("I read the history.", READ_HISTORY)):
        if _output(conversation, command) is None:
            return Move(text, bash(command))
    history = parse_history(_output(conversation, READ_HISTORY) or "")
    scored = [candidate for candidate in history if candidate.score is not None]
    if not scored:
        return Move("There is nothing to learn from.", submit("no change: the history holds no scored candidate"))
    best = max(scored, key=lambda candidate: candidate.score or 0.0)  # max gives the earliest of equals
    command = read_failures(best.candidate_id)
    output = _output(conversation, command)
    if output is None:
        return Move(f"{best.candidate_id} is the best so far; I look at its failing trials.", bash(command))
    request = _output(conversation, READ_REQUEST) or ""
    ideas = rank(parse_failures(output), [candidate.summary for candidate in history], request)
    return _edit(conversation, ideas, parse_failures(output), best, scored[0])


def _edit(
    conversation: Conversation, ideas: list[Hypothesis], failures: Failures, best: PastCandidate, seed: PastCandidate
) -> Move:
    """Start from the best candidate's source, then apply the first idea that can be applied."""
    start = _start_from(best)
    if ideas and best != seed and _output(conversation, start) is None:
        return Move(f"I start from {best.candidate_id}.", bash(start))
    for idea in ideas:
        if _output(conversation, idea.look) is None:
            return Move("I read what I am going to change.", bash(idea.look))
        result = _output(conversation, idea.edit)
        if result is None:
            return Move(f"I try this: {idea.summary}.", bash(idea.edit))
        if EDITED in result:
            return _hand_in(conversation, idea.answer(failures), seed)
    return Move("I have no further idea.", submit("no change: no idea is left that the failing trials speak for"))


def _hand_in(conversation: Conversation, answer: str, seed: PastCandidate) -> Move:
    # not -u: its headers hold the times of the files, and evidence must not vary
    command = f"diff -r history/{seed.candidate_id}/source candidate | head -n 200"
    if _output(conversation, command) is None:
        return Move("I look at the whole change.", bash(command))
    return Move("The change is as I want it.", submit(answer))


def _start_from(candidate: PastCandidate) -> str:
    """Give the command that makes candidate/ a writable copy of an earlier candidate's read-only source."""
    return load_command("start-from").replace("CANDIDATE", candidate.candidate_id)


def _output(conversation: Conversation, command: str) -> str | None:
    """Give what a command printed when it was first run, None where it was not."""
    return next(iter(conversation.results(bash(command))), None)
