"""The leak check: what it finds, and above all what it leaves alone."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import read_tree, write_tree
from wmo_models.offline.hypotheses import HYPOTHESES, Hypothesis
from wmo_propose.leak_check import MAX_REASONS, TaskTexts, leak_problems
from wmo_propose.task_texts import FILE_BYTES, TASK_BYTES, read_task_texts
from wmo_suites.task import load_suite, load_task

SUITE = Path(__file__).parents[3] / "suites" / "starter"
PI = seed_tree(find_vendor_dir(None, Path(__file__)))
STARTER = tuple(read_task_texts(load_suite(SUITE)))
SEED = {"SYSTEM.md": "Work with care.\n", "src/index.ts": "export class Agent {}\n"}
INSTRUCTION = "Sort the orders by date.\nA later row with the same number *replaces* the earlier one; keep its note."
CHECK = """\
#!/usr/bin/env bash
set -euo pipefail
import sys, os, json, re, csv, math, time
# the sum of all amounts must not have changed by a single cent
[ "$(sum /app/out.csv)" = 4711 ] || fail "somebody has lost the amounts of the second shop"
"""
TASK = TaskTexts("order-book", {"instruction.md": INSTRUCTION, "tests/test.sh": CHECK})


def check(
    files: Mapping[str, str], tasks: Sequence[TaskTexts] = (TASK,), seed: Mapping[str, str] = SEED
) -> Sequence[str]:
    return leak_problems(SourceTree.from_mapping({**seed, **files}), SourceTree.from_mapping(seed), tasks)


@pytest.mark.parametrize(
    "text",
    [
        "In order-book, look twice.",
        'if (task === "order-book") {',
        "See trials/order-book/attempt-1.",
        "# Order-Book\n",
        "The task is order-book.",
    ],
)
def test_a_task_that_is_named_is_a_leak(text: str) -> None:
    reason = "'SYSTEM.md' names the task 'order-book': a candidate must not know its tasks"
    assert check({"SYSTEM.md": text}) == [reason]


@pytest.mark.parametrize(
    "text", ["reorder-books", "an order book", "order_book()", "order-book-keeping", "my-order-book"]
)
def test_a_part_of_another_word_names_no_task(text: str) -> None:
    assert check({"SYSTEM.md": f"Mind {text}.\n"}) == []


def test_a_file_name_names_a_task_too() -> None:
    assert check({"skills/order-book.md": "Look twice.\n"}) == [
        "'skills/order-book.md' names the task 'order-book': a candidate must not know its tasks"
    ]


def test_an_id_that_the_seed_has_as_a_word_is_an_ordinary_word() -> None:
    seed = {**SEED, "src/book.ts": "// like an order-book\n"}
    assert check({"SYSTEM.md": "Keep an order-book.\n"}, seed=seed) == []


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("Check the permissions of every file before you submit this task.", False),
        ('chmod("permissions")', False),
        ("The main task: permissions come last.", False),
        ("In the task `permissions`, look twice.", True),
        ('if (taskId === "permissions") {', True),
        ("task: 'permissions'", True),
        ("cp tests/tasks/permissions/expected.json .", True),
    ],
)
def test_an_id_of_one_word_counts_only_where_it_is_marked_as_a_tasks(text: str, leaks: bool) -> None:
    assert bool(check({"SYSTEM.md": text}, [TaskTexts("permissions", {})])) == leaks


def test_a_quote_of_an_instruction_is_found_whatever_its_form() -> None:
    text = "Remember:\n  > A LATER row -- with the `same` number\n  > replaces the\n  > earlier one!\n"
    assert check({"skills/rows.md": text}) == [
        "'skills/rows.md' quotes 'instruction.md' of task 'order-book' "
        '("a later row with the same number replaces"): a candidate must not know its tasks'
    ]


@pytest.mark.parametrize(
    "text",
    [
        "// The sum of all amounts must not have changed!",
        'const LOST = "somebody has lost the amounts of the second shop";',
    ],
)
def test_a_quote_of_a_verifier_is_found_in_source_too(text: str) -> None:
    (found,) = check({"src/index.ts": f"{SEED['src/index.ts']}{text}\n"})
    assert found.startswith("'src/index.ts' quotes 'tests/test.sh' of task 'order-book' (\"")


@pytest.mark.parametrize(
    "text",
    [
        "A later row with the same number wins.",  # seven words
        "#!/usr/bin/env bash\nset -euo pipefail\nimport sys, os, json, re, csv, math, time\n",
        "Every one replaces the earlier; keep the date of orders, sort them by number.",
    ],
)
def test_fewer_words_common_lines_and_other_orders_are_no_quote(text: str) -> None:
    assert check({"SYSTEM.md": text}) == []


def test_tables_of_numbers_and_character_classes_are_no_quote() -> None:
    task = TaskTexts("a-b", {"tests/t.py": "[1, 2, 3, 4, 5, 6, 7, 8, 9]\n[A-Za-z0-9][a-z0-9]+[a-z0-9]\n"})
    assert check({"src/a.ts": "[1, 2, 3, 4, 5, 6, 7, 8, 9]; /[A-Za-z0-9][a-z0-9]+[a-z0-9]/\n"}, [task]) == []


def test_a_solution_may_share_some_commands_in_a_row_but_not_all() -> None:
    commands = "git reflog expire --expire=now --all && git repack -ad && git fsck --full && git gc --prune=now --quiet"
    commands += " && git status --short"
    task = TaskTexts("git-gone", {"solution/solve.sh": f"#!/bin/sh\n{commands}\n"})
    assert check({"SYSTEM.md": "Clean up: " + commands.partition(" --full")[0]}, [task]) == []
    (found,) = check({"SYSTEM.md": f"Clean up: {commands}"}, [task])
    assert found.startswith("'SYSTEM.md' quotes 'solution/solve.sh' of task 'git-gone' (\"git reflog expire expire now")


def test_what_the_seed_says_is_no_quote_wherever_it_moves() -> None:
    seed = {**SEED, "src/old.ts": f"// {INSTRUCTION}\n"}
    moved = {"SYSTEM.md": SEED["SYSTEM.md"], "src/new.ts": seed["src/old.ts"]}
    assert leak_problems(SourceTree.from_mapping(moved), SourceTree.from_mapping(seed), [TASK]) == []


def test_a_file_is_told_once_a_text_and_a_common_text_for_its_first_task() -> None:
    other = TaskTexts("other-task", {"instruction.md": INSTRUCTION, "tests/test.sh": CHECK})
    found = check({"SYSTEM.md": INSTRUCTION + CHECK, "notes.md": CHECK}, [TASK, other])
    assert [reason.partition(' ("')[0] for reason in found] == [
        "'SYSTEM.md' quotes 'instruction.md' of task 'order-book'",
        "'SYSTEM.md' quotes 'tests/test.sh' of task 'order-book'",
        "'notes.md' quotes 'tests/test.sh' of task 'order-book'",
    ]


def test_the_reasons_end() -> None:
    found = check({f"n{number}.md": INSTRUCTION for number in range(50)})
    assert len(found) == MAX_REASONS + 1
    assert found[-1] == "... and more knowledge of the tasks"


@pytest.mark.parametrize("task", STARTER, ids=lambda task: task.id)
def test_each_bundled_task_is_found_by_its_name_and_its_texts(task: TaskTexts) -> None:
    seed = PI.as_mapping()
    quoted = ["instruction.md", *(name for name in task.texts if name.endswith(("checks.py", "solve.sh")))]
    assert len(quoted) == 3
    for name in quoted:
        first = check({"notes.md": task.texts[name]}, STARTER, seed)[0]
        assert first.startswith("'notes.md' "), first
        assert any(
            f"'{name}' of task '{task.id}'" in reason for reason in check({"notes.md": task.texts[name]}, [task])
        )
    assert check({"notes.md": f"This is the task `{task.id}`."}, STARTER, seed)


@pytest.mark.parametrize("idea", HYPOTHESES, ids=lambda idea: idea.summary)
def test_what_the_offline_optimizer_does_is_no_leak(idea: Hypothesis, tmp_path: Path) -> None:
    loop = Path(__file__).parents[3] / "packages/wmo-episode/src/wmo_episode/kit_python/loop.py"
    (tmp_path / "REQUEST.md").write_text(f"```python\n{loop.read_text()}```\n")
    write_tree(PI, tmp_path / "candidate")
    done = subprocess.run(["bash", "-c", idea.edit], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "edited candidate/" in done.stdout
    candidate = read_tree(tmp_path / "candidate")
    assert candidate != PI
    assert leak_problems(candidate, PI, STARTER) == []


FOREIGN = tuple(sorted((Path(__file__).parents[1] / "src").rglob("*.py")))


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_the_seed_with_edits_that_know_nothing_of_the_tasks_passes(data: st.DataObject) -> None:
    """Lines of pi are dropped, moved and doubled, and this tool's own source is put between them."""
    files = dict(PI.as_mapping())
    foreign = data.draw(st.sampled_from(FOREIGN)).read_text().splitlines(keepends=True)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=4)):
        lines = files[path].splitlines(keepends=True) or ["\n"]
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(lines))] * 2)))
        count = data.draw(st.integers(0, len(foreign)))
        files[path] = "".join([*lines[end:], *foreign[:count], *lines[:end], *lines[start:]])
    assert leak_problems(SourceTree.from_mapping(files), PI, STARTER) == []


def test_a_tasks_texts_are_its_instruction_verifier_and_solution(tmp_path: Path) -> None:
    task = tmp_path / "long-task"
    for folder in ("environment/workspace", "tests/deep", "solution"):
        (task / folder).mkdir(parents=True)
    for name in ("task.toml", "environment/workspace/given.txt", "tests/test.sh", "solution/solve.sh"):
        (task / name).touch()
    (task / "instruction.md").write_text("Do it.\n")
    (task / "tests/binary").write_bytes(b"\0\xff words")
    for number in range(6):
        (task / f"tests/deep/{number}.csv").write_bytes(b"x" * (FILE_BYTES + 1))
    (task / "tests/link").symlink_to(task / "instruction.md")
    (found,) = read_task_texts([load_task(task)])
    assert found.id == "long-task"
    assert list(found.texts) == [
        "instruction.md", "tests/binary", *(f"tests/deep/{number}.csv" for number in range(6)), "tests/test.sh",
        "solution/solve.sh"]  # fmt: skip
    assert "words" in found.texts["tests/binary"]
    assert found.texts["tests/deep/0.csv"] == "x" * FILE_BYTES
    assert sum(len(text) for text in found.texts.values()) <= TASK_BYTES + len("Do it.\n")


def test_a_candidate_that_quotes_an_assertion_is_found(tmp_path: Path) -> None:
    task = tmp_path / "some-task"
    for folder in ("environment/workspace", "tests"):
        (task / folder).mkdir(parents=True)
    for name in ("task.toml", "tests/test.sh"):
        (task / name).touch()
    (task / "instruction.md").write_text("Do it.\n")
    assertion = "The answer names the payment that was raised and the clerk who raised it."
    (task / "gold.toml").write_text(f'assertions = ["Short.", "{assertion}"]\n')
    files = {**PI.as_mapping(), "SYSTEM.md": f"Make sure: {assertion.lower()}\n"}
    (problem,) = leak_problems(SourceTree.from_mapping(files), PI, read_task_texts([load_task(task)]))
    assert "'SYSTEM.md' quotes 'gold.toml, assertion 2' of task 'some-task'" in problem
