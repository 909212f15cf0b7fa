"""The published JSON Schemas equal what the models say today; each document has one, and writes what it reads."""

import json
from importlib.resources import files

import pytest
from wmo_contracts.schemas import DOCUMENTS, json_schema, schema_file_name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.SCHEMA)
def test_schema_file_has_not_drifted(document):
    published = files("wmo_contracts") / "json_schemas" / schema_file_name(document)
    assert json.loads(published.read_text("utf-8")) == json_schema(document), "run `make schemas` and look at the diff"


def test_no_schema_file_without_a_document():
    names = {path.name for path in (files("wmo_contracts") / "json_schemas").iterdir()}
    assert names == {schema_file_name(document) for document in DOCUMENTS}
