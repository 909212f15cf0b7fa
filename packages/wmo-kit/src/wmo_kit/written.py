"""What is wrong with a file that a person wrote: one line, the key, and for a misspelt one the right ones."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


def first_problem(error: ValidationError, model: type[BaseModel], *, hidden: Sequence[str] = ()) -> str:
    """Give the first problem of `error`, which validating as `model` raised, as "'the.key': what is wrong".

    Of an unknown key it names those that are allowed in its place, but for the `hidden` ones.
    """
    # an unknown key first: where a name is misspelt, the right one is missing as well
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        reason = first["msg"].removeprefix("Value error, ")
        return f"'{where}': {reason[:1].lower()}{reason[1:]}"
    allowed = [name for name in _fields_at(model, first["loc"][:-1]) if name not in hidden]
    return f"'{where}': unknown key" + (f"; there may be {', '.join(allowed)}" if allowed else "")


def _fields_at(model: type[BaseModel], where: Sequence[int | str]) -> list[str]:
    """Give the names of the model's fields at a place in it; none where the place is no model."""
    for part in where:
        if isinstance(part, int):  # the place in a list, whose items' model is at hand already
            continue
        field = model.model_fields.get(part)
        inner = next(_models(field.annotation), None) if field else None
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Give the models that a field's type names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
