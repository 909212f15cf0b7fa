"""Documents in and out: files and standard streams. Every way to be unreadable is a BadDocument naming the source."""

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from wmo_contracts.base import Document, Part, parse_text

from wmo_kit.atomic import write_text_atomic
from wmo_kit.errors import BadDocument, Usage

PartT = TypeVar("PartT", bound=Part)
DocumentT = TypeVar("DocumentT", bound=Document)
MAX_BYTES = 64 * 1024 * 1024
"""A document above this size is refused before it is parsed: the largest honest one, a tree of 8 MiB, is far below."""


def read_document(source: str | Path, model: type[DocumentT]) -> DocumentT:
    """Read a `wmo.*` document from a path or from stdin (`-`).

    Raises BadDocument, OSError, and Usage where stdin is a terminal.
    """
    if str(source) == "-":
        if sys.stdin.isatty():
            raise Usage("a document is needed on standard input, which is a terminal: pipe one in or name a file")
        name, data = "<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        name = str(source)
        with Path(source).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    value = parse_bytes(data, name)
    found = value.get("schema") if isinstance(value, dict) else None
    if found != model.SCHEMA:
        raise BadDocument(f"cannot read '{name}': its schema is '{found}', wanted '{model.SCHEMA}'")
    return validate(value, model, name)


def read_json_part(path: Path, model: type[PartT]) -> PartT:
    """Read a plain JSON file of the run directory as `model`. Raises BadDocument that names the file, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO in its place would block for ever
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadDocument(f"cannot read '{path}': it is no regular file")
        data = file.read(MAX_BYTES + 1)
    return validate(parse_bytes(data, str(path)), model, str(path))


def parse_bytes(data: bytes, name: str) -> Any:
    """Parse strict JSON bytes; `name` is the source in messages. Raises BadDocument."""
    if len(data) > MAX_BYTES:
        raise BadDocument(f"cannot read '{name}': larger than {MAX_BYTES} bytes")
    try:
        return parse_text(data.decode())
    except UnicodeDecodeError as error:
        raise BadDocument(f"cannot read '{name}': not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise BadDocument(f"cannot read '{name}': {error}") from error


def validate(value: Any, model: type[PartT], name: str) -> PartT:
    """Check a parsed JSON value against `model`; `name` is the source in messages. Raises BadDocument."""
    try:
        return model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        raise BadDocument(f"cannot read '{name}': '{where}': {first['msg'].lower()}") from error


def emit(document: Document, output: str | Path = "-") -> None:
    """Give the result document: on stdout for `-`, else atomically to a file. Raises OSError."""
    if str(output) == "-":
        sys.stdout.write(document.to_text())
        sys.stdout.flush()
    else:
        write_text_atomic(Path(output), document.to_text())
