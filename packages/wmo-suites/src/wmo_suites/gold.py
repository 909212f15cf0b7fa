"""A task's `gold.toml`: the assertions that a judge holds a trial against. Neither agent nor proposer sees it."""

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from wmo_kit.errors import BadDocument
from wmo_kit.written import first_problem

GOLD = "gold.toml"
EXAMPLE = 'assertions = ["The answer names the file that was written.", ...]'


class _GoldFile(BaseModel):
    """Hand-written configuration forbids what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    assertions: list[Annotated[str, Field(min_length=1)]]

    @field_validator("assertions")
    @classmethod
    def _distinct(cls, value: list[str]) -> list[str]:
        for position, text in enumerate(value, 1):
            if not text.strip():
                raise ValueError(f"assertion {position} is blank")
            if text in value[: position - 1]:
                raise ValueError(f"assertion {position} is there twice")
        return value


def read_gold(path: Path) -> tuple[str, ...] | None:
    """Give the assertions in the file at `path`, in order; None where there is no such file.

    Raises BadDocument that names the file and the key.
    """
    if not path.exists():
        return None
    if not path.is_file():
        raise BadDocument(f"cannot read '{path}': it is no file")
    try:
        return tuple(_GoldFile.model_validate(tomllib.loads(path.read_text("utf-8"))).assertions)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadDocument(f"cannot read '{path}': {error}") from error
    except ValidationError as error:
        raise BadDocument(f"cannot read '{path}': {first_problem(error, _GoldFile)}") from error
