"""Whatever one change does to a run directory: it is detected, or harmless.

Detected: a command ends with 65, or verify with 1, and names a path of the run. Harmless: the status, the best and the
finished run are what they are without the change, the changed file itself and proposers' own words left out.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whole_run import Ended, build, command, files_below

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
DUE = "candidates/candidate-0004"
CELLS = 4
SHUFFLED = st.sampled_from([None, True, False, 0, 1, -1, 4, 0.5, 1.5, 10**30, "", "x", "candidate-0003", [], {}, [[]]])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return build(tmp_path_factory.mktemp("whole"), pending=True)


class Calm:
    """What a run shows, what it shows once it is finished, and what it holds then, where nothing happens to it."""

    def __init__(self, run: Path) -> None:
        self.shown = view(run)
        assert command("score", run).code == 0
        self.finished = view(run)
        self.files = contents(run)


@pytest.fixture(scope="module")
def calm(whole):
    with copy_of(whole) as run:
        return Calm(run)


class copy_of:  # noqa: N801  used as a function
    """A copy of the run, gone at the end; quicker than a fixture for every example."""

    def __init__(self, whole: Path) -> None:
        self.whole = whole

    def __enter__(self) -> Path:
        self.place = Path(tempfile.mkdtemp(dir=self.whole.parent))
        (self.place / "suite").symlink_to(self.whole.parent / "suite")
        return Path(shutil.copytree(self.whole, self.place / "run", copy_function=shutil.copyfile))

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.place)


def view(run: Path) -> object:
    status, best = command("status", run), command("best", run)
    if status.document is None or best.document is None:
        return status, best
    for outcome in status.document["outcomes"]:
        del outcome["summary"], outcome["spent"]
    document = status.document
    return document["settings"], document["next"], document["outcomes"], document["best"], best.document


def contents(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in files_below(run) if name != "events.jsonl"}


def detected(ended: Ended, run: Path) -> bool:
    """A refusal that helps: it names a path in the run and says what to do."""
    assert ended.code in {0, 1, 65, 78}, ended
    if ended.code == 0:
        return False
    assert str(run) in ended.words, ended
    assert len(ended.words.splitlines()) == 1, ended
    return True


def check(run: Path, changed: str, calm: Calm) -> None:
    """Hold every command's answer for the changed run against the calm one."""
    caught = detected(command("verify", run), run)
    if not os.path.lexists(run / DUE / "pending.json") and detected(command("propose", run), run):
        return  # else the candidate is as good as not accepted, and its turn's verdict was committed anew
    if not (detected(command("status", run), run) or detected(command("best", run), run)):
        assert view(run) == calm.shown
    if (caught and changed.startswith(f"{DUE}/trials")) or len(list(run.glob(f"{DUE}/trials/*/*/cell.json"))) < CELLS:
        return  # the trial would run again, aloud and with real agents: tests/pipeline
    if detected(command("score", run), run) or caught:
        return
    assert view(run) == calm.finished
    after = contents(run)
    differ = {name for name in calm.files.keys() | after.keys() if calm.files.get(name) != after.get(name)}
    assert [name for name in differ if name != changed and not name.startswith(f"{changed}/")] == []


@QUICK
@given(data=st.data())
def test_any_change_of_a_file_is_detected_or_harmless(data, whole, calm):
    with copy_of(whole) as run:
        name = data.draw(st.sampled_from(list(files_below(whole))))
        change_file(data, run / name, run)
        check(run, name, calm)


def change_file(data, path: Path, run: Path) -> None:
    """Damage a file as disks, editors and people do."""
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content)), label="place")
    how = data.draw(
        st.sampled_from(
            ["flip", "cut", "insert", "drop", "other", "empty", "link", "fifo", "folder", "remove", "again"]
        ),
        label="how",
    )
    if how == "other":
        others = [name for name in files_below(run) if Path(name).name == path.name]
        path.write_bytes((run / data.draw(st.sampled_from(others))).read_bytes())
    elif how in {"link", "fifo", "folder", "remove"}:
        path.unlink()
        if how == "link":
            path.symlink_to(data.draw(st.sampled_from([path.name, "nowhere", "/etc/passwd", "/dev/zero", "."])))
        elif how != "remove":
            os.mkfifo(path) if how == "fifo" else path.mkdir()
    else:
        some = data.draw(st.binary(min_size=1, max_size=4), label="bytes")
        before, after = content[:place], content[place:]
        path.write_bytes({
            "flip": before[:-1] + bytes([before[-1] ^ (some[0] or 1)]) + after if before else some,
            "cut": before,
            "insert": before + some + after,
            "drop": before + after[len(some) :],
            "empty": b"",
            "again": content * 2,
        }[how])  # fmt: skip


@QUICK
@given(data=st.data())
def test_any_change_of_a_json_value_is_detected_or_harmless(data, whole, calm):
    with copy_of(whole) as run:
        names = [name for name in files_below(whole) if name.endswith(".json")]
        name = data.draw(st.sampled_from(names))
        value = json.loads((run / name).read_text())
        change_value(data, value)
        (run / name).write_text(json.dumps(value, indent=2))
        check(run, name, calm)


def change_value(data, value) -> None:
    """Change one place of a JSON value: drop it, put something else there, or move it."""
    holder, key = data.draw(st.sampled_from(list(places(value))))
    how = data.draw(st.sampled_from(["drop", "other", "near", "rename", "twice"]), label="how")
    if how == "drop":
        del holder[key]
    elif how == "rename" and isinstance(holder, dict):
        holder[f"{key}x"] = holder.pop(key)
    elif how == "twice" and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = near(holder[key]) if how == "near" else data.draw(SHUFFLED, label="value")


def places(value) -> Iterator[tuple[object, object]]:
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def near(item):
    """Give a value that is easily taken for this one."""
    if isinstance(item, bool):
        return not item
    if isinstance(item, int | float):
        return item + 1 if item == 0 else item / 2
    if isinstance(item, str):
        return item[:-1] if item else "x"
    return list(reversed(item)) if isinstance(item, list) else None


@settings(QUICK, max_examples=30)
@given(data=st.data())
def test_any_change_of_folders_is_detected_or_harmless(data, whole, calm):
    with copy_of(whole) as run:
        folders = sorted(path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_dir())
        name = data.draw(st.sampled_from(folders))
        how = data.draw(st.sampled_from(["remove", "swap", "file", "link", "empty"]), label="how")
        path = run / name
        if how == "swap":
            twins = [
                other
                for other in folders
                if other.count("/") == name.count("/") and Path(other).parent == Path(name).parent
            ]
            other = data.draw(st.sampled_from(twins))
            aside = path.with_name("aside")
            path.rename(aside)
            if other != name:
                (run / other).rename(path)
            aside.rename(run / other)
        elif how == "link":
            path.symlink_to(path.rename(run.parent / "elsewhere"))
        else:
            shutil.rmtree(path)
            if how == "file":
                path.write_text("in the way")
            elif how == "empty":
                path.mkdir()
        check(run, Path(name).parent.as_posix() if how == "swap" else name, calm)
