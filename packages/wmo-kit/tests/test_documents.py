"""Documents from hostile sources: each is a BadDocument that names the source and the place."""

import json
import os
from pathlib import Path

import pytest
from wmo_contracts.harness import HarnessDocument, SourceFile
from wmo_kit.documents import emit, read_document, read_json_part
from wmo_kit.errors import BadDocument, shown

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
        (
            b'{"schema": "wmo.harness/1", "name": "n", "files": [], "later": ' + b"[" * 600 + b"]" * 600 + b"}",
            "recursion",
        ),
        (b'{"schema": "wmo.harness/1", "name": "n", "files": [], "later": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"schema": "wmo.harness/1", "name": "n", "files": [], "later": 1e999}', "1e999 is too large"),
        (b'{"schema": "wmo.harness/1", "name": "n", "files": [], "later": "\\ud800"}', "escape"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "duplicate key '\\ud800'"),
        (b'\xef\xbb\xbf{"schema": "wmo.harness/1", "name": "n", "files": []}', "BOM"),
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


def test_a_folder_in_place_of_a_run_file_is_refused_and_leaves_nothing_open(tmp_path):
    (tmp_path / "state.json").mkdir()
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(BadDocument, match=r"state\.json': it is no regular file"):
        read_json_part(tmp_path / "state.json", SourceFile)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize(("name", "what"), [("nosuch.json", "no such file"), ("", "it is a directory")])
def test_a_document_that_is_not_there_is_named_in_plain_words(tmp_path, name, what):
    with pytest.raises(BadDocument) as caught:
        read_document(tmp_path / name, HarnessDocument)
    assert str(caught.value) == f"cannot read '{tmp_path / name}': {what}"


def test_a_document_that_a_user_names_may_be_a_pipe_and_a_run_file_no_link(tmp_path):
    emit(GOOD, tmp_path / "h.json")
    (tmp_path / "link").symlink_to("h.json")
    assert read_document(tmp_path / "link", HarnessDocument) == GOOD
    assert read_json_part(tmp_path / "h.json", HarnessDocument) == GOOD
    with pytest.raises(BadDocument, match="it is a symlink"):
        read_json_part(tmp_path / "link", HarnessDocument)


def test_a_huge_file_is_refused_unread(tmp_path):
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 40)  # sparse: reading it would take minutes
    with pytest.raises(BadDocument, match=r"huge\.json': larger than"):
        read_json_part(tmp_path / "huge.json", SourceFile)


def test_a_run_document_is_held_to_its_schema(tmp_path):
    (tmp_path / "h.json").write_text('{"schema": "wmo.run/1", "name": "n", "files": []}')
    with pytest.raises(BadDocument, match=r"its schema is 'wmo\.run/1'"):
        read_json_part(tmp_path / "h.json", HarnessDocument)


def test_what_a_message_quotes_is_short_plain_and_on_one_line():
    assert shown("Größe 'x'") == "Größe 'x'"
    assert shown("a\nb\ud800\x1b[2J") == r"a\nb\ud800\x1b[2J"
    assert shown("x" * 10_000) == "x" * 200 + "... (10000 characters)"


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    """So does /dev/null, whose place a rename would take where we are root."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as reader:
        emit(GOOD, pipe)
        assert json.loads(reader.read(1 << 16))["schema"] == "wmo.harness/1"
    assert pipe.is_fifo()
