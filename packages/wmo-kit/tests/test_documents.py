"""Documents from hostile sources: each is a BadDocument that names the source and the place."""

import os

import pytest
from wmo_contracts.harness import HarnessDocument, SourceFile
from wmo_kit.documents import emit, read_document, read_json_part
from wmo_kit.errors import BadDocument

GOOD = HarnessDocument(name="n", files=(SourceFile(path="SYSTEM.md", content="Grüße\r\n"),))


def test_round_trip_through_a_file(tmp_path):
    emit(GOOD, tmp_path / "h.json")
    assert read_document(tmp_path / "h.json", HarnessDocument) == GOOD
    text = (tmp_path / "h.json").read_text()
    assert text.startswith('{\n  "schema": "wmo.harness/1",\n')
    assert text.endswith("}\n")
    assert "Grüße" in text


def test_unknown_keys_inside_a_known_major_are_ignored(tmp_path):
    (tmp_path / "h.json").write_text('{"schema": "wmo.harness/1", "name": "n", "files": [], "later": 1}')
    assert read_document(tmp_path / "h.json", HarnessDocument).name == "n"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "expecting value"),
        (b"[]", "schema"),
        (b"null", "schema"),
        (b"{}", "schema"),
        (b'{"schema": "wmo.harness/2", "name": "n", "files": []}', "wmo.harness/2"),
        (b'{"schema": "wmo.harness/1", "name": "n"}', "'files'"),
        (b'{"schema": "wmo.harness/1", "name": true, "files": []}', "'name'"),
        (b'{"schema": "wmo.harness/1", "name": "n", "name": "m", "files": []}', "duplicate key 'name'"),
        (b'{"schema": "wmo.harness/1", "name": NaN, "files": []}', "NaN"),
        (b'{"schema": "wmo.harness/1", "name": "\xff", "files": []}', "not UTF-8"),
        (b'{"schema": "wmo.harness/1", "na', "unterminated"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_bad_input_is_named(tmp_path, data, word):
    path = tmp_path / "h.json"
    path.write_bytes(data)
    with pytest.raises(BadDocument) as caught:
        read_document(path, HarnessDocument)
    assert str(path) in str(caught.value)
    assert word.lower() in str(caught.value).lower()


def test_a_fifo_in_place_of_a_run_file_is_refused_and_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(BadDocument, match=r"state\.json': it is no regular file"):
        read_json_part(tmp_path / "state.json", SourceFile)
