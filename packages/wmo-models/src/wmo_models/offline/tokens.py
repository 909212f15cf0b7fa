"""How the offline model counts tokens."""

import json
from typing import Any

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English text and code."""


def count_tokens(text: str) -> int:
    """Give the number of tokens of `text`: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count_json_tokens(value: Any) -> int:
    """Give the number of tokens of a JSON value, as its compact text."""
    return count_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
