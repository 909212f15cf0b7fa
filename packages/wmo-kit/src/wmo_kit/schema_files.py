"""`python -m wmo_kit.schema_files DIR`: write every document's JSON Schema into a folder (`make schemas`)."""

import sys
from pathlib import Path

from wmo_contracts.schemas import DOCUMENTS, json_schema, schema_file_name

from wmo_kit.atomic import write_json_atomic


def write_schemas(directory: Path) -> list[Path]:
    """Write one file per document into `directory` and give their paths. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / schema_file_name(document) for document in DOCUMENTS]
    for document, path in zip(DOCUMENTS, paths, strict=True):
        write_json_atomic(path, json_schema(document))
    return paths


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
