"""A task's gold.toml: read, or refused by file and key."""

import shutil
from pathlib import Path

import pytest
from wmo_kit.errors import BadDocument
from wmo_suites.task import load_task, require_gold, task_digest

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TASKS / "hello", tmp_path / "hello"))


def test_assertions_in_their_order_and_part_of_what_a_judged_task_is(task: Path) -> None:
    without = task_digest(load_task(task), judged=False)
    assert task_digest(load_task(task), judged=True) == without
    assert load_task(task).assertions is None
    (task / "gold.toml").write_text('assertions = ["The answer says `done`.", "A file was written."]\n')
    loaded = load_task(task)
    assert loaded.assertions == ("The answer says `done`.", "A file was written.")
    assert task_digest(loaded, judged=True) != without
    assert task_digest(loaded, judged=False) == without
    (task / "tests/gold.toml").write_text("a file of the tests counts for a verifier")
    assert task_digest(load_task(task), judged=False) != without


def test_no_assertions_are_a_gold_file_too(task: Path) -> None:
    (task / "gold.toml").write_text("assertions = []\n")
    assert load_task(task).assertions == ()
    require_gold([load_task(task)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'assertions': field required"),
        ('assertion = ["a"]', "'assertion': unknown key"),
        ('assertions = ["a"]\nweight = 2', "'weight': unknown key; there may be assertions"),
        ('assertions = "a"', "'assertions'"),
        ('assertions = ["a", 1]', "'assertions.1'"),
        ('assertions = ["a", ""]', "'assertions.1'"),
        ('assertions = ["a", "  "]', "'assertions': assertion 2 is blank"),
        ('assertions = ["a", "b", "a"]', "'assertions': assertion 3 is there twice"),
        ("assertions = [", "gold.toml"),
    ],
)
def test_a_bad_file_is_refused_by_file_and_key(task: Path, text: str, words: str) -> None:
    (task / "gold.toml").write_text(text)
    with pytest.raises(BadDocument) as caught:
        load_task(task)
    assert f"cannot read '{task / 'gold.toml'}'" in str(caught.value)
    assert words in str(caught.value)


def test_what_is_no_file_or_no_text_is_refused(task: Path) -> None:
    (task / "gold.toml").mkdir()
    with pytest.raises(BadDocument, match="it is no file"):
        load_task(task)
    (task / "gold.toml").rmdir()
    (task / "gold.toml").write_bytes(b"assertions = ['\xff']")
    with pytest.raises(BadDocument, match=r"gold\.toml"):
        load_task(task)


def test_a_task_without_one_cannot_be_judged(task: Path) -> None:
    with pytest.raises(BadDocument, match=r"task 'hello' cannot be judged: .*gold\.toml.*assertions = \["):
        require_gold([load_task(task)])
