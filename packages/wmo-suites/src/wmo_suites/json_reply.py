"""The one JSON value that a model was asked for. Pure."""

import re
from typing import Any

from wmo_contracts.base import mend_json, parse_text

FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
"""Models like to write JSON so. Only a reply that is such a block as a whole counts."""


def parse_reply(text: str) -> Any:
    """Give the JSON value that `text` is, bare or in one fenced block. Raises ValueError, also for none at all."""
    text = text.strip()
    fenced = FENCED.fullmatch(text)
    try:
        return parse_text(mend_json(fenced[1] if fenced else text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
