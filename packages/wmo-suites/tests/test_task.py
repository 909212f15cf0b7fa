"""Reading tasks and suites."""

import shutil
from pathlib import Path

import pytest
from wmo_kit.errors import BadDocument
from wmo_suites.task import load_suite, load_task, select, task_digest

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A copy of the task 'hello' to break."""
    return Path(shutil.copytree(TASKS / "hello", tmp_path / "hello"))


def test_a_task_as_written() -> None:
    task = load_task(TASKS / "hello")
    assert (task.id, task.agent_timeout_s, task.verifier_timeout_s) == ("hello", 20.0, 10.0)
    assert task.instruction == 'Write the line "hello" into /app/greeting.txt.\n'
    assert task.verifier_environment == "fresh"
    assert load_task(TASKS / "served").verifier_environment == "shared"


def test_limits_come_from_the_environment_table(task: Path) -> None:
    (task / "task.toml").write_text(
        "[environment]\nmemory_mb = 512\nstorage_mb = 64\ncpus = 2\nallow_internet = false\n"
    )
    limits = load_task(task).limits
    assert (limits.memory_bytes, limits.file_bytes, limits.tmp_bytes) == (512 << 20, 64 << 20, 64 << 20)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[agent]\ntimeout = 3", "'agent.timeout': unknown key; there may be timeout_sec"),
        ("[agnet]\ntimeout_sec = 3", "'agnet': unknown key; there may be version, source, metadata, agent, "),
        ("[agent]\ntimeout_sec = true", "'agent.timeout_sec'"),
        ("[agent]\ntimeout_sec = 0", "'agent.timeout_sec'"),
        ("[agent]\ntimeout_sec = inf", "'agent.timeout_sec'"),
        ("[verifier]\nenvironment = 'own'", "'verifier.environment'"),
        ("[environment]\nmemory_mb = 'much'", "'environment.memory_mb'"),
        ("[environment]\nallow_internet = true", "a sandbox has no network"),
        ("[agent\n", "line 1"),
    ],
)
def test_bad_settings_name_file_and_key(task: Path, text: str, words: str) -> None:
    (task / "task.toml").write_text(text)
    with pytest.raises(BadDocument) as caught:
        load_task(task)
    assert words in str(caught.value)
    assert str(task / "task.toml") in str(caught.value)


def test_metadata_is_free(task: Path) -> None:
    (task / "task.toml").write_text(
        "version = '2'\nsource = 'x'\n[metadata]\nanything = [1, 2]\n[metadata.deep]\na = 1\n"
    )
    assert load_task(task).id == "hello"


@pytest.mark.parametrize("name", ["instruction.md", "environment/workspace", "tests/test.sh", "task.toml"])
def test_missing_parts_are_named(task: Path, name: str) -> None:
    path = task / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(BadDocument, match=f"no '{name}'"):
        load_task(task)


@pytest.mark.parametrize(
    ("name", "kind"), [("instruction.md", "file"), ("environment/workspace", "folder"), ("tests/test.sh", "file")]
)
def test_parts_of_the_wrong_kind_are_named(task: Path, name: str, kind: str) -> None:
    path = task / name
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("")
    else:
        path.unlink()
        path.mkdir()
    with pytest.raises(BadDocument, match=f"bad '{name}' .*it is no {kind}"):
        load_task(task)


def test_an_instruction_must_say_something_in_utf_8(task: Path) -> None:
    (task / "instruction.md").write_text(" \n")
    with pytest.raises(BadDocument, match="empty"):
        load_task(task)
    (task / "instruction.md").write_bytes(b"ab\xff")
    with pytest.raises(BadDocument, match="not UTF-8 at byte 2"):
        load_task(task)


@pytest.mark.parametrize("name", ["Hello", "-x", "a b", "a\n"])
def test_bad_names(task: Path, name: str) -> None:
    with pytest.raises(BadDocument, match="bad task name"):
        load_task(task.rename(task.with_name(name)))


def test_a_suite_is_sorted_and_skips_other_folders(tmp_path: Path) -> None:
    for name in ("b", "a"):
        shutil.copytree(TASKS / "hello", tmp_path / name)
    (tmp_path / "notes").mkdir()
    assert [task.id for task in load_suite(tmp_path)] == ["a", "b"]


def test_no_suite_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(BadDocument, match="no suite at"):
        load_suite(tmp_path / "nowhere")
    with pytest.raises(BadDocument, match="no tasks in suite"):
        load_suite(tmp_path)


def test_select_keeps_the_order_asked_for() -> None:
    tasks = load_suite(TASKS)
    assert [task.id for task in select(tasks, ["silent", "hello"])] == ["silent", "hello"]
    with pytest.raises(BadDocument, match="unknown task 'nope': there are hello, served, silent"):
        select(tasks, ["nope"])
    with pytest.raises(BadDocument, match="named twice"):
        select(tasks, ["hello", "hello"])


def test_digest_covers_paths_bits_and_bytes(task: Path) -> None:
    def digest() -> str:
        return task_digest(load_task(task), judged=False)

    first = digest()
    assert first == task_digest(load_task(TASKS / "hello"), judged=False)
    seen = {first}
    script = task / "tests" / "test.sh"
    script.chmod(0o755)
    seen.add(digest())
    script.chmod(0o600)
    assert digest() == first
    script.write_text(script.read_text() + "\n")
    seen.add(digest())
    (task / "environment" / "workspace" / "link").symlink_to("README")
    seen.add(digest())
    (task / "environment" / "workspace" / "README").rename(task / "environment" / "workspace" / "README2")
    seen.add(digest())
    assert len(seen) == 5
