"""Text that a terminal may be given: what others wrote (agents, models, file names) must not steer it."""

import re

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""Control characters but tab and line feed, marks that turn the direction of text, line separators, half characters."""


def shown(text: str) -> str:
    r"""Give `text` with every character that could steer a terminal as an escape, such as \x1b or \u202e."""
    return STEERING.sub(_escape, text)


def shown_on_one_line(text: str) -> str:
    r"""Give what `shown` does, with line feeds and tabs as \n and \t: for a place in a line or a cell of a table."""
    return shown(text).replace("\n", r"\n").replace("\t", r"\t")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
