"""Skill files: `skills/<name>.md` with front matter, and their one canonical text."""

import re

from wmo_contracts.episode import Skill

from wmo_harness.errors import BadHarness

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""Kebab case, the form of surface ids and skill names. Matched with fullmatch."""
FENCE = "---"
FIELDS = ("name", "description")
_PATH = re.compile(r"skills/([^/]+)\.md")


def parse_skill(path: str, text: str) -> Skill:
    """Parse a file below `skills/`.

    It is `---`, then the lines `name: ...` and `description: ...`, `---`, then the body. White space around values
    and around the body does not count (two files that differ only there are one skill, with one hash).
    Raises BadHarness that names the path.
    """
    match = _PATH.fullmatch(path)
    if not match:
        raise BadHarness(f"misplaced file '{path}': a skill is 'skills/<name>.md'")
    stem = match.group(1)
    if not SLUG.fullmatch(stem):
        raise BadHarness(f"bad skill name in '{path}': use kebab case, like 'count-rows'")
    fields, body = _split_front_matter(path, text)
    if fields["name"] != stem:
        raise BadHarness(f"bad skill '{path}': its name is '{fields['name']}', but its file says '{stem}'")
    return Skill(name=stem, description=fields["description"], content=body.strip())


def render_skill(skill: Skill) -> str:
    """Give a skill's canonical text, which is also its surface's content. No newline at the end."""
    return f"{FENCE}\nname: {skill.name}\ndescription: {skill.description}\n{FENCE}\n{skill.content}"


def _split_front_matter(path: str, text: str) -> tuple[dict[str, str], str]:
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        raise BadHarness(f"bad skill '{path}': the first line must be '{FENCE}', then name and description")
    fields: dict[str, str] = {}
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() == FENCE:
            return _complete(path, fields), "\n".join(lines[number:])
        key, colon, value = line.partition(":")
        if not colon or key.strip() not in FIELDS or key.strip() in fields:
            raise BadHarness(f"bad skill '{path}': line {number} is not one 'name: ...' or 'description: ...'")
        fields[key.strip()] = value.strip()
    raise BadHarness(f"bad skill '{path}': no '{FENCE}' ends the front matter")


def _complete(path: str, fields: dict[str, str]) -> dict[str, str]:
    for key in FIELDS:
        if not fields.get(key):
            raise BadHarness(f"bad skill '{path}': '{key}' is missing or empty")
    return fields
