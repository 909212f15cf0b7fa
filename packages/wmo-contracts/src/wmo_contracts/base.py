"""What every document shares: strict typing, the schema line, and its one text form."""

import json
import math
import re
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

KEY_CHARS = 60
"""How much of a bad key or number is quoted in a message."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in JSON text; `half` where it is half a character alone."""


class Part(BaseModel):
    """A piece of a document: frozen, strictly typed (`true` is no number), no NaN or Infinity, unknown keys ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class Document(Part):
    """A whole document. `SCHEMA` names it and its major version: `wmo.<name>/<major>`.

    Serialised, the schema line stands first and the other keys sorted. wmo_kit.documents checks it on the way in.
    """

    SCHEMA: ClassVar[str]

    @model_serializer(mode="wrap")
    def _schema_first(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        body = handler(self)
        return {"schema": self.SCHEMA, **{key: body[key] for key in sorted(body)}}

    def to_json(self) -> dict[str, Any]:
        """Give the document as plain JSON values, the schema line first, the other keys sorted."""
        return self.model_dump(mode="json")

    def to_text(self) -> str:
        """Give the document's text: UTF-8 characters as they are, sorted keys, indent 2, a newline at the end."""
        return dump_text(self.to_json())


def dump_text(value: Any) -> str:
    """Give the text form of a JSON value: indent 2, every nested object sorted, no NaN, a newline at the end.

    The top level keeps its order, so that `schema` can stand first; the run directory's plain files are passed sorted.
    Half characters are mended: what an agent says must not make its evidence impossible to write. Raises ValueError
    where `value` holds NaN or Infinity.
    """
    if isinstance(value, dict):
        value = {key: _sorted(item) for key, item in value.items()}
    else:
        value = _sorted(value)
    return mend_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def mend_text(text: str) -> str:
    """Give `text` with U+FFFD for each half character: a lone surrogate, which neither UTF-8 nor our readers hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _SURROGATE.search(text) else text


def mend_json(text: str) -> str:
    """Give JSON text with U+FFFD for each half character, escaped or not: for what agents and endpoints send."""
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda found: "\\ufffd" if found["half"] else found[0], text)
    return mend_text(text)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


def parse_text(text: str) -> Any:
    """Parse JSON strictly. Duplicate keys, NaN, Infinity and what rounds to it raise ValueError, as json does."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"duplicate key {key[:KEY_CHARS]!r}")
        result[key] = value
    return result


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):  # `1e999` is JSON, but would be written back as Infinity, which is none
        raise ValueError(f"{digits[:KEY_CHARS]} is too large for a number")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
