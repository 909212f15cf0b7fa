"""The system prompt that the model sees: the harness's own text, and where there are skills, their index."""

from wmo_harness.surfaces import HarnessSpec

SKILL_INDEX = "Skills are written procedures. Read one with read_skill(name) before work that it describes."


def system_prompt(spec: HarnessSpec) -> str:
    """Give SYSTEM.md exactly as it is; with skills, followed by an index of `name: description` lines."""
    if not spec.skills:
        return spec.system
    index = [f"- {skill.name}: {skill.description}" for skill in spec.skills]
    return "\n".join([spec.system.rstrip("\n"), "", SKILL_INDEX, *index, ""])
