"""What agents and models wrote, as people see it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from wmo_kit.log import Log
from wmo_kit.progress import WorkProgress
from wmo_kit.terminal import shown, shown_on_one_line

EVIL = "a\x1b]0;title\x07\x1b[2J\r\x9b31m\x7f\u202egnp\u2066\u2028\ud83d\x00b"
STEERS = {*map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029])}


def steers(text: str) -> set[str]:
    """Give the characters of `text` that a terminal would not just show."""
    return {character for character in text if character in STEERS or "\ud800" <= character <= "\udfff"}


def test_what_would_steer_is_an_escape_and_the_rest_stays() -> None:
    assert shown("näive \u4e2d\U0001f600\ttab\nline") == "näive \u4e2d\U0001f600\ttab\nline"
    assert shown(EVIL).startswith(r"a\x1b]0;title\x07\x1b[2J\x0d\x9b31m\x7f\u202egnp\u2066\u2028\ud83d\x00b")
    everything = "".join(map(chr, range(0x10000)))
    assert steers(shown(everything)) == {"\n", "\t"}
    assert steers(shown_on_one_line(everything)) == set()


def test_a_line_cannot_be_forged(capsys: pytest.CaptureFixture[str]) -> None:
    Log("wmo-x").say("event", f"bad thing '{EVIL}\nwmo-x: all is well'")
    said = capsys.readouterr().err
    assert steers(said) == {"\n"}
    assert [line.startswith("wmo-x: ") for line in said.splitlines()] == [True, False]


def test_a_json_line_is_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    Log("wmo-x", as_json=True).say("event", EVIL, name=EVIL)
    said = capsys.readouterr().err
    assert steers(said) == {"\n"}
    assert [json.loads(said)[key] for key in ("message", "name")] == [EVIL, EVIL]


def test_progress_is_one_line_without_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with WorkProgress(Log("wmo-x"), "slot 1", 1, {}) as progress:
        progress.advance(f"{EVIL}\nforged")
    assert steers(capsys.readouterr().err) == {"\n"}
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with WorkProgress(Log("wmo-x"), "slot [red]1", 1, {"TERM": "xterm"}) as progress:
        progress.advance(f"[bold]{EVIL}")
    assert "\x07" not in capsys.readouterr().err


def test_the_front_doors_tables_show_the_same() -> None:
    """tasks.py imports no package of ours: its own small copy must not lag behind."""
    program = "import json, sys, tasks; print(json.dumps([tasks.shown(text) for text in json.load(sys.stdin)]))"
    texts = [chr(code) for code in range(0x10000) if chr(code) not in "\n\t\r"] + [f"{EVIL}\n\t"]
    asked = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(asked.stdout) == [shown_on_one_line(text).replace(r"\x0d", r"\r") for text in texts]
