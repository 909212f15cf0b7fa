"""Every file of a run, damaged in every way: each command that reads it ends with 65 (verify: 1), the file, the slot
and what to do; it never believes it, mends it, waits for it or falls over it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from whole_run import READERS, WORKERS, build, command, files_below

BIN = Path(sys.executable).parent
TEXT = '{"candidate_id": "candidate-0001", "doc_hash": "0", "outcomes": []'


def in_place_of(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def link_to_a_copy(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name(f".{path.name}.elsewhere")))


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(100 << 20)


JSON_DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "list": lambda path: path.write_text("[]"),
    "null": lambda path: path.write_text("null"),
    "object": lambda path: path.write_text("{}"),
    "number": lambda path: path.write_text("7"),
    "nan": lambda path: path.write_text(TEXT + ', "score": NaN}'),
    "infinite": lambda path: path.write_text(TEXT + ', "score": 1e999}'),
    "key twice": lambda path: path.write_text(TEXT + ', "doc_hash": "0"}'),
    "latin-1": lambda path: path.write_text(TEXT + ', "reason": "caf\xe9"}', encoding="latin-1"),
    "utf-16": lambda path: path.write_text(TEXT + "}", encoding="utf-16"),
    "bom": lambda path: path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes()),
    "nested": lambda path: path.write_text("[" * 100_000),
    "closed and nested": lambda path: path.write_text('{"a": ' + "[" * 500 + "]" * 500 + "}"),
    "digits": lambda path: path.write_text('{"slot": ' + "9" * 5000 + "}"),
    "surrogate": lambda path: path.write_text('{"\\ud800": 1, "\\ud800": "\\ud800"}'),
}
"""What makes a file no JSON of its kind."""
FILE_DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "nul": lambda path: path.write_bytes(b"\0" * 100),
    "huge": huge,
    "fifo": in_place_of(os.mkfifo),
    "folder": in_place_of(Path.mkdir),
    "dangling link": in_place_of(lambda path: path.symlink_to("nowhere")),
    "link to itself": in_place_of(lambda path: path.symlink_to(path.name)),
    "link to a copy": link_to_a_copy,
    "device": in_place_of(lambda path: path.symlink_to("/dev/zero")),
}
"""What makes a path no such file."""
MISSING: dict[str, Callable[[Path], object]] = {"missing": Path.unlink}

ALL = ("verify", "status", "init", "best", "next", "score", "optimize")
SEED, ONE, FOUR = (f"candidates/candidate-000{slot}" for slot in (0, 1, 4))
TRIAL = "trials/a-task/attempt-1"
READ_BY: dict[str, tuple[int | None, tuple[str, ...]]] = {
    "state.json": (None, ALL),
    "run.json": (None, ("verify", "score", "status", "init", "best", "next")),
    f"{SEED}/report.json": (0, ("verify", "score", "status", "init", "best", "optimize")),
    f"{SEED}/source/config.toml": (0, ("verify", "score", "status", "init", "best", "optimize")),
    f"{SEED}/{TRIAL}/cell.json": (0, ("verify", "score")),
    f"{ONE}/report.json": (1, ("verify", "optimize", "status", "init", "best")),
    f"{ONE}/proposal.json": (1, ("verify", "optimize", "status", "init", "best")),
    f"{ONE}/source/src/a.ts": (1, ("verify", "optimize", "status", "init", "best")),
    f"{ONE}/{TRIAL}/cell.json": (1, ("verify",)),
    f"{ONE}/{TRIAL}/episode.json": (1, ("verify",)),
    f"{ONE}/{TRIAL}/wmo-run.json": (1, ("verify",)),
    f"{ONE}/{TRIAL}/exchanges.json": (1, ("verify",)),
    "candidates/candidate-0002/error.json": (2, ("verify", "optimize", "status", "init", "best")),
    f"{FOUR}/pending.json": (4, ("verify", "score", "status", "init", "optimize")),
    f"{FOUR}/proposal.json": (4, ("verify", "score", "status", "init", "optimize")),
    f"{FOUR}/source/SYSTEM.md": (4, ("verify", "score", "status", "init", "optimize")),
    f"{FOUR}/{TRIAL}/cell.json": (4, ("verify", "score")),
    f"{FOUR}/{TRIAL}/wmo-run.json": (4, ("score",)),
    "proposals/slot-0001/status.json": (1, ("verify", "status", "init")),
    "proposals/slot-0001/source/SYSTEM.md": (1, ("verify",)),
    "proposals/slot-0001/events.json": (1, ("verify",)),
    "proposals/slot-0001/exchanges.json": (1, ("verify",)),
    "proposals/slot-0002/error.json": (2, ("verify",)),
    "proposals/slot-0004/status.json": (4, ("verify", "score", "status", "init")),
}
"""By file: its slot, and the commands that rest on it, the full audit first."""
MAY_BE_MISSING = {
    "run.json",  # a run of the reference
    f"{SEED}/{TRIAL}/cell.json",  # only the seed's tasks are compared by it, for a warning; verify names it
    f"{ONE}/{TRIAL}/exchanges.json",  # a run from before it was kept
    "proposals/slot-0001/exchanges.json",  # a command's turn has none
    f"{FOUR}/pending.json",  # not accepted yet
    f"{FOUR}/{TRIAL}/cell.json",  # not run yet
    f"{FOUR}/{TRIAL}/wmo-run.json",  # an agent that plays no episode leaves none
    "proposals/slot-0001/status.json",  # a turn of another system
    "proposals/slot-0004/status.json",
}
"""What a run without the file stands for something honest."""
FEW = ("empty", "fifo", "dangling link", "missing")
"""Damage that is shown to every command; the others to the first two of a file's."""


def cases() -> list[object]:
    return list(_cases())


def _cases():
    for name, (_, commands) in READ_BY.items():
        json = name.endswith(".json") and not name.endswith("events.json")
        for kind in {**(JSON_DAMAGE if json else {}), **FILE_DAMAGE, **MISSING}:
            if kind == "missing" and name in MAY_BE_MISSING:
                continue
            if name.endswith("status.json") and kind == "closed and nested":
                continue  # JSON, and none of our keys: another system's
            if name.endswith(("events.json", "config.toml", "SYSTEM.md", "a.ts")) and kind in {"nul", "empty"}:
                continue  # tried below: what it means depends on the file
            yield pytest.param(name, kind, commands if kind in FEW else commands[:2], id=f"{name}-{kind}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that waits for scores (True), and the one that waits for a proposal (False)."""
    return {pending: build(tmp_path_factory.mktemp("whole"), pending=pending) for pending in (True, False)}


@pytest.fixture
def copy(whole, tmp_path):
    def make(pending):
        for part in (whole[pending], whole[pending].parent / "suite"):
            shutil.copytree(part, tmp_path / part.name, copy_function=shutil.copyfile)
        return tmp_path / "run"

    return make


@pytest.fixture
def run(copy):
    return copy(True)


def damage(path: Path, kind: str) -> None:
    {**JSON_DAMAGE, **FILE_DAMAGE, **MISSING}[kind](path)


def look(run: Path) -> dict[str, object]:
    """Give what is on disk, without following or opening anything that could block."""
    return {
        path.relative_to(run).as_posix(): (path.lstat().st_mode, path.lstat().st_ino, path.lstat().st_mtime_ns)
        for path in run.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }


@pytest.mark.parametrize(("name", "kind", "commands"), cases())
def test_damage_is_named_and_left_alone(run, name, kind, commands):
    slot = READ_BY[name][0]
    damage(run / name, kind)
    before = look(run)
    for line in commands:
        ended = command(line, run)
        assert ended.code == (1 if line == "verify" else 65), (line, ended)
        assert named(ended.words, run, name), (line, ended.words)
        assert slot is None or f"slot {slot}" in ended.words, (line, ended.words)
        assert re.search(r"restore it|move '", ended.words), (line, ended.words)
        assert len(ended.words.splitlines()) == 1, (line, ended.words)
        assert len(ended.words) < 2000, line
        ended.words.encode()
        assert look(run) == before, line


def named(words: str, run: Path, name: str) -> bool:
    """The file itself, or for a source the tree that is not what it was."""
    source = re.match(r"(.*/source)/", name)
    if name == "state.json" and "is not in" in words:  # it is gone: what it should list is named, and where
        return str(run / name) in words
    return str(run / name) in words or (source is not None and str(run / source.group(1)) in words)


def refused(run: Path, commands: tuple[str, ...], *words: str) -> None:
    """Each command refuses the run with these words, and changes nothing."""
    before = look(run)
    for line in commands:
        ended = command(line, run)
        assert ended.code == (1 if line == "verify" else 65), (line, ended)
        assert all(word in ended.words for word in words), (line, ended.words)
        assert look(run) == before, line


def swap(one: Path, other: Path) -> None:
    aside = one.with_name(f"{one.name}.aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("in the way")


def replace_by_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name(f".{path.name}.elsewhere")))


FOLDERS: dict[str, tuple[Callable[[Path], object], tuple[str, ...], tuple[str, ...]]] = {
    "candidate missing": (lambda run: shutil.rmtree(run / ONE), ("verify", "status", "best"), ("slot 1", ONE)),
    "candidate a file": (lambda run: replace_by_file(run / ONE), ("verify", "status", "best"), ("slot 1", ONE)),
    "candidate a link": (lambda run: replace_by_link(run / ONE), ("verify", "status", "best"), ("slot 1", "symlink")),
    "candidates missing": (lambda run: shutil.rmtree(run / "candidates"), ("verify", "score", "best"), (SEED,)),
    "candidates a file": (lambda run: replace_by_file(run / "candidates"), ("verify", "score", "best"), (SEED,)),
    "candidates swapped": (lambda run: swap(run / SEED, run / ONE), ("verify", "score", "best"), (SEED,)),
    "later candidates swapped": (
        lambda run: swap(run / ONE, run / "candidates/candidate-0003"),
        ("verify", "status", "best", "optimize"),
        ("slot 1",),
    ),
    "source missing": (lambda run: shutil.rmtree(run / FOUR / "source"), ("verify", "score"), ("slot 4", "source")),
    "source a link": (lambda run: replace_by_link(run / FOUR / "source"), ("verify", "score"), ("slot 4", "symlink")),
    "trials of the seed missing": (
        lambda run: shutil.rmtree(run / SEED / "trials/a-task"),
        ("verify",),
        ("slot 0", f"{SEED}/{TRIAL}/cell.json"),
    ),
    "attempts swapped": (
        lambda run: swap(run / FOUR / TRIAL, run / FOUR / "trials/a-task/attempt-2"),
        ("score",),
        ("slot 4", TRIAL, "another trial"),
    ),
    "attempt a link": (lambda run: replace_by_link(run / FOUR / TRIAL), ("verify", "score"), ("slot 4", "symlink")),
    "turn a link": (lambda run: replace_by_link(run / "proposals/slot-0001"), ("verify", "status"), ("symlink",)),
    "turns swapped": (
        lambda run: swap(run / "proposals/slot-0001", run / "proposals/slot-0003"),
        ("verify",),
        ("slot 1", "proposals/slot-0001/status.json"),
    ),
    "a slot too many": (lambda run: (run / "candidates/candidate-0007").mkdir(), ALL, ("slot 7", "candidate-0007")),
    "timeline a fifo": (lambda run: damage(run / "events.jsonl", "fifo"), ("verify", "score"), ("events.jsonl",)),
    "timeline a link": (lambda run: damage(run / "events.jsonl", "device"), ("verify", "score"), ("events.jsonl",)),
    "lock a fifo": (lambda run: os.mkfifo(run / ".lock"), ("score", "init", "optimize"), (".lock",)),
    "lock a link": (lambda run: (run / ".lock").symlink_to("x"), ("score", "init", "optimize"), (".lock",)),
    "lock a folder": (lambda run: (run / ".lock").mkdir(), ("score", "init", "optimize"), (".lock",)),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_run_that_was_taken_apart_is_refused(run, name):
    change, commands, words = FOLDERS[name]
    change(run)
    refused(run, commands, *words)


@pytest.mark.parametrize("kind", [*JSON_DAMAGE, *FILE_DAMAGE])
def test_a_turns_verdict_that_is_damaged_buys_no_other_turn(copy, kind):
    if kind == "closed and nested":
        kind = "list"
    run = copy(False)
    damage(run / "proposals/slot-0004/status.json", kind)
    refused(run, ("propose", "verify"), "slot 4", "proposals/slot-0004/status.json", "restore it")


def test_what_was_handed_in_is_held_against_its_verdict(copy):
    run = copy(False)
    (run / "proposals/slot-0004/source/SYSTEM.md").write_text("Another.")
    refused(run, ("propose",), "slot 4", "proposals/slot-0004/source' is not what was accepted", "propose again")
    shutil.rmtree(run / "proposals/slot-0004/source")
    refused(run, ("propose",), "slot 4", "proposals/slot-0004/source")


@pytest.mark.parametrize("name", [f"{ONE}/report.json", "proposals/slot-0001/status.json", f"{SEED}/source/SYSTEM.md"])
@pytest.mark.parametrize("kind", ["empty", "fifo", "link to a copy", "huge"])
def test_a_proposer_is_shown_no_damage(copy, name, kind):
    run = copy(False)
    for path in (run / "proposals/slot-0004").iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)
    damage(run / name, kind)
    refused(run, ("propose",), f"slot {READ_BY.get(name, (0,))[0]}", str(run / name).removesuffix("/SYSTEM.md"))


@pytest.mark.parametrize(
    "text", [b"", b"Work.\0", b"\xef\xbb\xbfWork.", b"Work.\r\n", b"caf\xe9", b"x" * (9 << 20), b"\xed\xa0\x80"]
)
@pytest.mark.parametrize("candidate", [ONE, FOUR])
def test_a_source_of_other_bytes_is_refused(run, candidate, text):
    (run / candidate / "source/SYSTEM.md").write_bytes(text)
    refused(run, ("verify", "status"), f"slot {candidate[-1]}", f"{candidate}/source")


HARMLESS: dict[str, Callable[[Path], object]] = {
    "crlf in the index": lambda run: crlf(run / "state.json"),
    "crlf in a report": lambda run: crlf(run / ONE / "report.json"),
    "crlf in the record": lambda run: crlf(run / "run.json"),
    "spaces": lambda run: (run / ONE / "proposal.json").write_bytes(
        (run / ONE / "proposal.json").read_bytes() + b" \n"
    ),
    "garbage in the timeline": lambda run: (run / "events.jsonl").write_bytes(b"\xff{[\0" * 1000),
    "no timeline": lambda run: (run / "events.jsonl").unlink(),
    "a stray file": lambda run: (run / ONE / "notes.txt").write_text("mine"),
    "an old pending.json": lambda run: (run / ONE / "pending.json").write_text("[]"),
    "left-over work": lambda run: (run / ".work").write_text("of a killed step"),
    "a link to left-over work": lambda run: (run / ".work").symlink_to("/nowhere"),
    "no turns": lambda run: shutil.rmtree(run / "proposals"),
}


def crlf(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def view(run: Path) -> object:
    """What people see of a run, apart from what proposers said, and what each slot cost."""
    document = command("status", run).document
    assert document is not None
    for outcome in document["outcomes"]:
        del outcome["summary"], outcome["spent"]
    return document["settings"], document["next"], document["outcomes"], document["best"], command("best", run).document


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_no_harm_is_let_pass_and_changes_nothing_of_the_run(copy, whole, run, name):
    expected = view(whole[True])
    HARMLESS[name](run)
    assert command("verify", run).code == 0
    assert view(run) == expected
    assert command("score", run).code == 0
    finished = view(run)
    shutil.rmtree(run.parent / "suite")
    shutil.rmtree(run)
    assert command("score", copy(True)).code == 0
    assert view(run) == finished


@pytest.mark.parametrize("name", sorted(MAY_BE_MISSING))
@pytest.mark.parametrize("line", READERS + WORKERS)
def test_an_honest_gap_is_never_a_traceback(run, name, line):
    (run / name).unlink()
    if line == "score" and name.startswith(f"{FOUR}/trials"):
        return  # the trial runs again, with real agents: tests/pipeline
    allowed = {0, 1, 65, 69, 78} | ({2} if (name, line) == ("run.json", "init") else set())  # it asks for the options
    assert command(line, run).code in allowed


def test_a_file_of_100_megabytes_costs_no_memory_and_no_time(run):
    """Real garbage under a real limit: what is read of it must fit beside the interpreter and its libraries."""
    garbage = os.urandom(1 << 20) * 100
    for name in ("state.json", "run.json", f"{ONE}/report.json", f"{ONE}/source/src/a.ts", f"{SEED}/source/SYSTEM.md"):
        path = run / name
        kept = path.read_bytes()
        path.write_bytes(garbage)
        limited = f'ulimit -v {600_000}; exec "{BIN}/wmo-state" status "{run}"'
        done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 65, (name, done.stderr)
        assert name in done.stderr or f"{name.rpartition('/source/')[0]}/source" in done.stderr
        path.write_bytes(kept)


def test_every_kind_of_file_is_damaged_here(whole):
    """A file that a later version adds to a run must be added to this list, too."""
    kinds = {re.sub(r"\d+|[ab]-task", "N", name) for name in files_below(whole[True])}
    tried = {re.sub(r"\d+|[ab]-task", "N", name) for name in READ_BY}
    beside = {
        "events.jsonl",
        "candidates/candidate-N/trials/N/attempt-N/verifier/reward.txt",
        "proposals/slot-N/REQUEST.md",
    }
    sources = {name for name in kinds if "/source/" in name}
    assert kinds - sources == (tried | beside) - sources - {name for name in tried if "/source/" in name}
