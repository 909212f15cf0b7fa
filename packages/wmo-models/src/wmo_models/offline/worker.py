"""The worker persona: it knows how to do the bundled tasks, and has ordinary weaknesses that a harness can mend.

Every decision is a pure function of what stands in the request. It does the first thing of its routine that it has not
done yet in this conversation: look around, (read a skill,) work, (check, mend,) submit.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from wmo_models.offline.advice import (
    demands_brevity,
    demands_pieces,
    demands_plan,
    demands_tools,
    reminds_to_check,
)
from wmo_models.offline.conversation import Call, Conversation
from wmo_models.offline.recipe import LongFile, Recipe, find_recipe
from wmo_models.offline.reply import Move, bash, call_tokens, submit
from wmo_models.offline.tokens import CHARACTERS_PER_TOKEN

MEMORY_CHARACTERS = 6000
"""A system prompt longer than this is forgotten: nothing in it counts."""
STRANGER_LOOK = bash("ls")
STRANGER_ANSWER = "I do not know how to do this task."
CANNOT_ACT = "I cannot do this: I have no bash tool to run commands with."
PLAN_TEXT = "My plan: first I look at the files, then I do what the task asks for, and at the end I submit the answer."
WORK_TEXT = "Now the work."
_FAILED_EXIT = re.compile(r"\bexit(ed)?( with)?( code| status)?:? [1-9]", re.IGNORECASE)
_INDEX_LINE = re.compile(r"^\s*[-*]?\s*([a-z0-9]+(?:-[a-z0-9]+)*): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class _Situation:
    """A conversation about a known task. `system` is what the worker still remembers of the system prompt."""

    conversation: Conversation
    recipe: Recipe
    tools: Collection[str]
    max_tokens: int | None

    @property
    def system(self) -> str:
        system = self.conversation.system
        return system if len(system) <= MEMORY_CHARACTERS else ""

    def did(self, call: Call) -> bool:
        return bool(self.conversation.results(call))


def next_move(
    conversation: Conversation, tools: Collection[str], max_tokens: int | None, recipes: tuple[Recipe, ...]
) -> Move:
    """Give the worker's next message. `tools` are the names on offer, `max_tokens` the request's output limit."""
    if "bash" not in tools:
        return Move(CANNOT_ACT)
    recipe = find_recipe(conversation.instruction, recipes)
    if recipe is None:
        return _stranger(conversation, tools)
    situation = _Situation(conversation, recipe, tools, max_tokens)
    planning = demands_plan(situation.system)
    if recipe.weakness == "prose" and (planning or not demands_tools(situation.system)):
        return Move(_description(recipe))
    if planning and conversation.turns == 0:
        return Move(PLAN_TEXT)
    return _opening(situation) or _work(situation) or _closing(situation)


def _stranger(conversation: Conversation, tools: Collection[str]) -> Move:
    if not conversation.results(STRANGER_LOOK):
        return Move("Let me look around.", STRANGER_LOOK)
    return _hand_in(STRANGER_ANSWER, tools)


def _description(recipe: Recipe) -> str:
    return (
        "To do this, I would first look at the files in the workspace, then write a command that does what is asked, "
        f"and run it. The answer would then be: {recipe.answer}"
    )


def _opening(situation: _Situation) -> Move | None:
    """Look around, then read a skill that promises to help. A worker that wanders looks at far more than it needs."""
    recipe = situation.recipe
    wanders = recipe.weakness == "wanders" and not demands_brevity(situation.system)
    for command in recipe.look + (recipe.wander if wanders else ()):
        if not situation.did(bash(command)):
            return Move("Let me look at what is there.", bash(command))
    skill = _promising_skill(situation)
    if skill is not None and not situation.did(skill):
        return Move("There is a skill about this; let me read it.", skill)
    return None


def _promising_skill(situation: _Situation) -> Call | None:
    """Find the read_skill call of the first skill in the prompt's index that is about the task's topic."""
    if "read_skill" not in situation.tools:
        return None
    for name, description in _INDEX_LINE.findall(situation.system):
        if any(word.lower() in f"{name} {description}".lower() for word in situation.recipe.skill_topic):
            return Call("read_skill", {"name": name})
    return None


def _knows_procedure(situation: _Situation) -> bool:
    """Say whether the worker can solve the task: only a "skill" task needs a procedure that it must have read."""
    if situation.recipe.weakness != "skill":
        return True
    skill = _promising_skill(situation)
    text = "\n".join(situation.conversation.results(skill)).lower() if skill else ""
    return all(word.lower() in text for word in situation.recipe.skill_words)


def _work(situation: _Situation) -> Move | None:
    return next((Move(WORK_TEXT, call) for call in _work_calls(situation) if not situation.did(call)), None)


def _work_calls(situation: _Situation) -> list[Call]:
    recipe = situation.recipe
    if recipe.weakness == "unchecked" or not _knows_procedure(situation):
        return [bash(recipe.draft)]
    solve = [bash(recipe.solve)] if recipe.solve else []
    return (_write_calls(situation, recipe.write) if recipe.write else []) + solve


def _write_calls(situation: _Situation, file: LongFile) -> list[Call]:
    """Type the whole file in one call, unless told (or already begun) to write it in pieces."""
    pieces = _pieces(file, situation.max_tokens)
    advised = demands_pieces(situation.system) or demands_pieces(situation.conversation.latest)
    if advised or situation.did(pieces[0]):
        return pieces
    if "write_file" in situation.tools:
        return [Call("write_file", {"path": file.path, "content": file.payload})]
    return _pieces(file, None)


def _pieces(file: LongFile, max_tokens: int | None) -> list[Call]:
    """Give bash calls that write `file` one after the other, each below `max_tokens` where its lines allow it."""
    groups: list[list[str]] = [[]]
    room = _room(file.path, max_tokens)
    used = 0
    for line in file.payload.splitlines():
        size = len(json.dumps(line, ensure_ascii=False)) + 2  # quotes stand for the line's escaped break
        if groups[-1] and room is not None and used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(line)
        used += size
    return [_append(file.path, lines, first=index == 0) for index, lines in enumerate(groups)]


def _room(path: str, max_tokens: int | None) -> int | None:
    """Give how many characters of JSON text the lines of one piece may take."""
    if max_tokens is None:
        return None
    return (max_tokens - call_tokens(WORK_TEXT, _append(path, [], first=False)) - 1) * CHARACTERS_PER_TOKEN


def _append(path: str, lines: Sequence[str], *, first: bool) -> Call:
    redirect = ">" if first else ">>"
    return bash("\n".join([f"cat {redirect} '{path}' <<'END_OF_PIECE'", *lines, "END_OF_PIECE"]))


def _closing(situation: _Situation) -> Move:
    """Submit; but check first where the newest message reminds of it, and mend what a check found wrong."""
    conversation, recipe = situation.conversation, situation.recipe
    check, solve = bash(recipe.check), bash(recipe.solve)
    verdict = _last_check(conversation, check)
    if verdict is None and reminds_to_check(conversation.latest):
        return Move("Let me check the work.", check)
    if verdict is not None and _shows_failure(verdict) and not situation.did(solve):
        if _knows_procedure(situation) and recipe.solve:
            return Move("The check found a mistake; let me mend it.", solve)
        return _hand_in(f"{recipe.answer} (My check fails, and I do not know how to mend it.)", situation.tools)
    return _hand_in(recipe.answer, situation.tools)


def _last_check(conversation: Conversation, check: Call) -> str | None:
    """Give the result of the last check, or None where work was done after it or it was never run."""
    for done in reversed(conversation.done):
        if done.call == check:
            return done.result
        if done.call.name != "submit":
            return None
    return None


def _shows_failure(result: str) -> bool:
    return "CHECK FAILED" in result or _FAILED_EXIT.search(result) is not None


def _hand_in(answer: str, tools: Collection[str]) -> Move:
    return Move("I submit the result.", submit(answer)) if "submit" in tools else Move(answer)
