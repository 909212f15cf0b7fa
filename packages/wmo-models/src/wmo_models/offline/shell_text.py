"""The longer shell commands that the optimizer types, from commands/*.sh."""

from functools import cache
from importlib.resources import files


@cache
def load_command(name: str) -> str:
    """Give the text of commands/`name`.sh, without the newline at its end."""
    return (files("wmo_models.offline") / "commands" / f"{name}.sh").read_text("utf-8").rstrip("\n")
