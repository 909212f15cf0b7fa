"""A harness as a document: the surfaces a tree parses into, the values they set, and the hash over them (design 4).

What a surface's content is (the vectors in tests/vectors fix it):
- prompt:core, code:*    the file's text, exactly as it is
- skill:<name>           the canonical text of the skill: white space around its body is gone
- tool_policy:main       the tool names, one a line, no newline at the end
- param:*                integers as `str`, floats as `repr`, so `temperature = 1` is "1"; a parameter that the file
                         does not set has no surface, and neither has the runtime kind "kit-python"
Only code:<slug> surfaces of ordinary files carry a path; every other surface has a place that its id fixes.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from wmo_contracts.episode import Skill

from wmo_harness.config_file import (
    CONFIG_KINDS,
    CONFIG_PATH,
    DEFAULT_RUNTIME_KIND,
    HarnessConfig,
    RuntimeKind,
    config_contents,
    config_from_contents,
    parse_config,
    render_config,
)
from wmo_harness.errors import BadHarness
from wmo_harness.python_runtime import RUNTIME_PATH, check_runtime
from wmo_harness.skills import SLUG, parse_skill, render_skill
from wmo_harness.source_tree import HASH_BYTES, SourceTree
from wmo_harness.tool_policy import READ_SKILL, SUBMIT

__all__ = [
    "BadHarness",
    "HarnessSpec",
    "Surface",
    "content_hash",
    "doc_hash",
    "from_doc",
    "parse_tree",
    "to_doc",
]

SYSTEM_PATH = "SYSTEM.md"
PROMPT_ID = "prompt:core"
RUNTIME_ID = "code:runtime"

DEFAULT_TOOLS = ("bash", "read_file", "write_file", SUBMIT)
DEFAULT_MAX_TURNS = 20
DEFAULT_MAX_OUTPUT_TOKENS = 4096
DEFAULT_TEMPERATURE = 0.7


@dataclass(frozen=True)
class Surface:
    """One thing a proposer can change. `id` is `<kind>:<kebab-slug>`; `path` only for ordinary code files."""

    id: str
    kind: str
    content: str
    path: str | None = None


@dataclass(frozen=True)
class HarnessSpec:
    """What a tree means: every setting with its default filled in, and the surfaces, sorted by id.

    `tools` holds `submit`, and `read_skill` where there are skills. `temperature` is in [0, 2].
    """

    system: str
    tools: tuple[str, ...]
    max_turns: int
    max_output_tokens: int
    temperature: float
    runtime_kind: RuntimeKind
    skills: tuple[Skill, ...]
    surfaces: tuple[Surface, ...]


def parse_tree(tree: SourceTree) -> HarnessSpec:
    """Parse a tree into what it means. Raises BadHarness that names the path or the key."""
    contents = tree.as_mapping()
    if SYSTEM_PATH not in contents:
        raise BadHarness(f"'{SYSTEM_PATH}' is missing: it holds the system prompt and every harness has one")
    config = parse_config(contents.get(CONFIG_PATH, ""))
    skills = tuple(parse_skill(path, text) for path, text in contents.items() if path.startswith("skills/"))
    surfaces = [_surface(PROMPT_ID, contents[SYSTEM_PATH])]
    surfaces += [_surface(surface_id, content) for surface_id, content in config_contents(config).items()]
    surfaces += [_surface(f"skill:{skill.name}", render_skill(skill)) for skill in skills]
    surfaces += [_code_surface(path, text) for path, text in contents.items() if _is_code(path)]
    return HarnessSpec(
        system=contents[SYSTEM_PATH],
        tools=_with_read_skill(DEFAULT_TOOLS if config.tools is None else config.tools, skills),
        max_turns=DEFAULT_MAX_TURNS if config.max_turns is None else config.max_turns,
        max_output_tokens=DEFAULT_MAX_OUTPUT_TOKENS if config.max_output_tokens is None else config.max_output_tokens,
        temperature=float(DEFAULT_TEMPERATURE if config.temperature is None else config.temperature),
        runtime_kind=config.runtime_kind or DEFAULT_RUNTIME_KIND,
        skills=skills,
        surfaces=_unique(surfaces),
    )


def content_hash(content: str) -> str:
    """Hash a surface's content: BLAKE2b-16 over its UTF-8 bytes, 32 hex digits."""
    return hashlib.blake2b(content.encode(), digest_size=HASH_BYTES).hexdigest()


def doc_hash(harness: HarnessSpec | Iterable[Surface]) -> str:
    """Hash a document: 32 hex digits. Two trees that mean the same (key order in TOML) share it.

    BLAKE2b-16 over a line for each surface, sorted by id and joined by newline: `id NUL content_hash`, and for a
    surface with a path `NUL path=<path>` after it.
    """
    surfaces = harness.surfaces if isinstance(harness, HarnessSpec) else harness
    lines = [
        f"{surface.id}\0{content_hash(surface.content)}" + (f"\0path={surface.path}" if surface.path else "")
        for surface in sorted(surfaces, key=lambda surface: surface.id)
    ]
    return content_hash("\n".join(lines))


def to_doc(tree: SourceTree) -> tuple[Surface, ...]:
    """Give a tree's surfaces, sorted by id. Raises BadHarness."""
    return parse_tree(tree).surfaces


def from_doc(surfaces: Iterable[Surface]) -> SourceTree:
    """Give the canonical tree of a document: `to_doc(from_doc(surfaces))` is `surfaces` again.

    For a tree whose config.toml and skills are in canonical text, `from_doc(to_doc(tree))` is the tree. Raises
    BadHarness where an id or a content is not one that a tree can have; BadTree for a bad path.
    """
    ordered = _unique(surfaces)
    settings = {surface.id: surface.content for surface in ordered if surface.kind in CONFIG_KINDS}
    contents = {_place(surface): surface.content for surface in ordered if surface.kind not in CONFIG_KINDS}
    config = config_from_contents(settings)
    if config != HarnessConfig():
        contents[CONFIG_PATH] = render_config(config)
    tree = SourceTree.from_mapping(contents)
    for wanted, got in zip_longest(ordered, to_doc(tree)):
        if wanted != got:
            surface = wanted or got
            raise BadHarness(f"surface '{surface.id if surface else ''}' is not in canonical form: no tree gives it")
    return tree


def _surface(surface_id: str, content: str, path: str | None = None) -> Surface:
    return Surface(id=surface_id, kind=surface_id.partition(":")[0], content=content, path=path)


def _is_code(path: str) -> bool:
    return path not in (SYSTEM_PATH, CONFIG_PATH) and not path.startswith("skills/")


def _code_surface(path: str, text: str) -> Surface:
    if path == RUNTIME_PATH:
        check_runtime(text)
        return _surface(RUNTIME_ID, text)
    slug = path.replace("/", "-").replace(".", "-")
    if not SLUG.fullmatch(slug):
        raise BadHarness(f"bad file name '{path}': '{slug}' is no kebab-case id; use lower-case letters, digits, '-'")
    if f"code:{slug}" == RUNTIME_ID:
        raise BadHarness(f"bad file name '{path}': the id '{RUNTIME_ID}' belongs to '{RUNTIME_PATH}'")
    return _surface(f"code:{slug}", text, path)


def _unique(surfaces: Iterable[Surface]) -> tuple[Surface, ...]:
    """Sort surfaces by id. Raises BadHarness where two share one."""
    by_id: dict[str, Surface] = {}
    for surface in surfaces:
        twin = by_id.setdefault(surface.id, surface)
        if twin is not surface:
            raise BadHarness(f"'{twin.path}' and '{surface.path}' map to one id '{surface.id}': rename one")
    return tuple(by_id[surface_id] for surface_id in sorted(by_id))


def _with_read_skill(tools: tuple[str, ...], skills: tuple[Skill, ...]) -> tuple[str, ...]:
    return (*tools, READ_SKILL) if skills and READ_SKILL not in tools else tools


def _place(surface: Surface) -> str:
    if surface.path is not None:
        return surface.path
    if surface.id == PROMPT_ID:
        return SYSTEM_PATH
    if surface.id == RUNTIME_ID:
        return RUNTIME_PATH
    if surface.kind == "skill":
        return f"skills/{surface.id.removeprefix('skill:')}.md"
    raise BadHarness(f"surface '{surface.id}' has no place in a tree: give it a path")
