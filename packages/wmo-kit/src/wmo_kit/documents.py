"""Documents in and out: files and standard streams. Every way to be unreadable is a BadDocument naming the source."""

import errno
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from wmo_contracts.base import Document, Part, parse_text

from wmo_kit.atomic import write_text_atomic
from wmo_kit.errors import BadDocument, Usage, shown
from wmo_kit.io_errors import naming

PartT = TypeVar("PartT", bound=Part)
DocumentT = TypeVar("DocumentT", bound=Document)
MAX_BYTES = 64 * 1024 * 1024
"""A document above this size is refused before it is parsed: the largest honest one, a tree of 8 MiB, is far below."""


def read_document(source: str | Path, model: type[DocumentT]) -> DocumentT:
    """Read a `wmo.*` document that a user named: a path, which may be a pipe, or `-` for stdin.

    Raises BadDocument, OSError, and Usage where stdin is a terminal.
    """
    if str(source) == "-":
        if sys.stdin.isatty():
            raise Usage("a document is needed on standard input, which is a terminal: pipe one in or name a file")
        name, data = "<stdin>", _read_stdin()
    else:
        name, data = str(source), _read_named(Path(source))
    value = parse_bytes(data, name)
    _check_schema(value, model, name)
    return validate(value, model, name)


def _read_stdin() -> bytes:
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        raise Usage("a document is needed on standard input, which is closed: pipe one in or name a file") from error


def _read_named(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        what = "it is a directory" if path.is_dir() else "no such file"
        raise BadDocument(f"cannot read '{path}': {what}") from error


def read_json_part(path: Path, model: type[PartT]) -> PartT:
    """Read a JSON file that a run directory keeps as `model`; of a Document, the schema line is checked, too.

    Only a regular file at that very name will do. Raises BadDocument that names the file, OSError.
    """
    data, name = read_regular(path, MAX_BYTES), str(path)
    value = parse_bytes(data, name)
    if issubclass(model, Document):
        _check_schema(value, model, name)
    return validate_text(data, model, name)


def read_json(path: Path) -> Any:
    """Read a JSON file that a run directory keeps, of any shape. Raises as read_json_part."""
    return parse_bytes(read_regular(path, MAX_BYTES), str(path))


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises BadDocument for a larger one or something else, OSError.

    A link is refused: what it points at is not the run's. NONBLOCK: opening a FIFO must not wait for a writer.
    """
    if path.is_symlink():
        raise BadDocument(f"cannot read '{path}': it is a symlink")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadDocument(f"cannot read '{path}': it is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = b"" if status.st_size > limit else file.read(limit + 1)
    finally:
        os.close(descriptor)
    if status.st_size > limit or len(data) > limit:
        raise BadDocument(f"cannot read '{path}': larger than {limit} bytes")
    return data


def _check_schema(value: Any, model: type[Document], name: str) -> None:
    found = value.get("schema") if isinstance(value, dict) else None
    if found != model.SCHEMA:
        raise BadDocument(f"cannot read '{name}': its schema is '{shown(found)}', wanted '{model.SCHEMA}'")


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
        text = json.dumps(value)
    except RecursionError as error:
        raise BadDocument(f"cannot read '{name}': nested too deep") from error
    return validate_text(text, model, name)


def validate_text(text: str | bytes, model: type[PartT], name: str) -> PartT:
    """Check JSON text that `parse_bytes` takes against `model`; `name` as there. Raises BadDocument.

    It costs less than `validate`, which writes the parsed value out again.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        raise BadDocument(f"cannot read '{name}': '{shown(where)}': {shown(first['msg'].lower())}") from error


def emit(document: Document, output: str | Path = "-") -> None:
    """Give the result document: on stdout for `-`, else atomically to a file. Raises OSError.

    What is there and no file is written to: a rename would put a file in the place of /dev/null.
    """
    path = Path(output)
    if str(output) == "-":
        print_text(document.to_text())
    elif path.exists() and not path.is_file() and not path.is_dir():
        with naming(path):
            path.write_text(document.to_text(), "utf-8")
    else:
        write_text_atomic(path, document.to_text())


def print_text(text: str) -> None:
    """Write text to stdout, to its end. Raises OSError that names it."""
    with naming(Path("<stdout>")):
        sys.stdout.write(text)
        sys.stdout.flush()
