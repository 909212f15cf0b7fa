"""What the worker knows: one recipe a bundled task, from knowledge/*.toml."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from wmo_kit.errors import BadDocument

WEAKNESSES = ("none", "prose", "unchecked", "long-write", "wanders", "skill")


@dataclass(frozen=True)
class LongFile:
    """The file that a long-write task asks for. In the TOML, `payload` names a file beside it that holds the text."""

    path: str
    payload: str


@dataclass(frozen=True)
class Recipe:
    """How the worker does one task.

    `match` is a phrase of the task's instruction. The commands are shell text for /app: `look` and `wander` to look
    around, `draft` the plausible but wrong work, `solve` the right work (it also mends a draft), `check` the worker's
    own test, which prints "CHECK FAILED" where the work is wrong. `answer` is what it submits. A task of weakness
    "skill" is solved only with a skill about one of `skill_topic` whose text holds all `skill_words`.
    """

    task: str
    match: str
    weakness: str
    answer: str
    look: tuple[str, ...]
    check: str
    solve: str = ""
    draft: str = ""
    write: LongFile | None = None
    wander: tuple[str, ...] = ()
    skill_words: tuple[str, ...] = ()
    skill_topic: tuple[str, ...] = ()


_KEYS = {field.name for field in fields(Recipe)}
_NEEDED = {
    "none": ("solve",),
    "prose": ("solve",),
    "unchecked": ("solve", "draft"),
    "long-write": ("write",),
    "wanders": ("solve", "wander"),
    "skill": ("solve", "draft", "skill_words", "skill_topic"),
}


def parse_recipe(text: str, name: str, read_beside: Callable[[str], str]) -> Recipe:
    """Parse a knowledge file. `name` is the file in messages; `read_beside` gives the text of a payload file.

    Raises BadDocument.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadDocument(f"cannot read '{name}': {error}") from error
    if unknown := sorted(raw.keys() - _KEYS):
        raise BadDocument(f"cannot read '{name}': unknown key '{unknown[0]}'")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    if "write" in values:
        values["write"] = LongFile(values["write"]["path"], read_beside(values["write"]["payload"]))
    try:
        recipe = Recipe(**values)
    except TypeError as error:
        raise BadDocument(f"cannot read '{name}': {error}") from error
    if recipe.weakness not in WEAKNESSES:
        raise BadDocument(f"cannot read '{name}': unknown weakness '{recipe.weakness}', use one of {WEAKNESSES}")
    if lacking := [key for key in _NEEDED[recipe.weakness] if not getattr(recipe, key)]:
        raise BadDocument(f"cannot read '{name}': weakness '{recipe.weakness}' needs '{lacking[0]}'")
    return recipe


@cache
def bundled_recipes() -> tuple[Recipe, ...]:
    """Give all bundled recipes, by file name. Raises BadDocument."""
    folder = files("wmo_models.offline") / "knowledge"
    found = sorted(_toml_files(folder), key=lambda file: file.name)
    return tuple(
        parse_recipe(file.read_text("utf-8"), file.name, lambda name: (folder / name).read_text("utf-8"))
        for file in found
    )


def find_recipe(instruction: str, recipes: tuple[Recipe, ...]) -> Recipe | None:
    """Give the recipe whose phrase stands in `instruction` (line breaks count as blanks), or None."""
    flat = " ".join(instruction.split())
    return next((recipe for recipe in recipes if " ".join(recipe.match.split()) in flat), None)


def _toml_files(folder: Traversable) -> list[Traversable]:
    return [file for file in folder.iterdir() if file.name.endswith(".toml")]
