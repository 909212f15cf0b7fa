"""The starter suite and what the offline worker knows of it: verifiers, solutions, recipes, in real boxes."""

from pathlib import Path

import pytest
from wmo_contracts.episode import Observation
from wmo_models.offline.recipe import Recipe, bundled_recipes
from wmo_models.offline.tokens import count_json_tokens, count_tokens
from wmo_suites.oracle import run_oracle
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import Task, load_suite
from wmo_suites.verifier import verify
from wmo_suites.workspace import copy_workspace

SUITE = Path(__file__).parents[2] / "suites" / "starter"
TASKS = {task.id: task for task in load_suite(SUITE)}
RECIPES = {recipe.task: recipe for recipe in bundled_recipes()}
OUTPUT_LIMITS = range(4096, 8192)
"""Tokens: more than a harness allows in one call by default, less than a mended one may allow."""

SLOPPY = {
    "fix-script": """
        sed -i -e 's/set -euo pipefail/set -u/' -e 's/wc -l/grep -c ""/' collect.sh
        sed -i -e 's/grep -c ERROR/grep -c "^ERROR "/' -e "s/'.txt'/'[.]txt$'/" collect.sh
        ./collect.sh reports summary.tsv
    """,
    "log-report": """
        python3 - <<'PY'
import json, re
seen, days = {}, {}
for line in open("logs/edge-1.log").readlines() + open("logs/edge-2.log").readlines():
    if m := re.search(r"^(\\S{10}).* req=(\\w+) \\S+ (\\S+) (\\d+) ([\\d.]+)(m?s)$", line):
        seen[m[2]] = (m[1], m[3], int(m[4]), round(float(m[5]) * (1 if m[6] == "ms" else 1000)))
for day, _, status, _ in seen.values():
    entry = days.setdefault(day, {"requests": 0, "errors": 0})
    entry["requests"] += 1
    entry["errors"] += status >= 500
slowest = [{"id": k, "path": v[1], "ms": v[3]} for k, v in sorted(seen.items(), key=lambda item: -item[1][3])[:3]]
errors = sum(entry["errors"] for entry in days.values())
json.dump({"requests": len(seen), "errors": errors, "by_day": days, "slowest": slowest}, open("report.json", "w"))
PY
    """,
    "csv-repair": """
        python3 - <<'PY'
import csv
rows, order = {}, "order_id date customer note amount".split()
for line in open("orders.csv"):
    cells = line.rstrip().split(";" if ";" in line else ",")
    if len(cells) == 5 and cells[0].isdigit():
        rows[int(cells[0])] = cells
    elif len(cells) == 5 and cells[1].isdigit():
        amount, number, customer, day, note = cells
        day, amount = "-".join(day.split("/")[::-1]), amount.replace(".", "").replace(",", ".")
        rows[int(number)] = [number, day, customer, note, amount]
csv.writer(open("orders.clean.csv", "w")).writerows([order] + [rows[number] for number in sorted(rows)])
PY
    """,
    "shell-pipeline": """
        cat > busiest.sh <<'SH'
awk -v OFS='\\t' '{ sum[$1] += $NF } END { for (client in sum) print sum[client], client }' | sort -rn | head -n 5
SH
    """,
    "permissions": """
        tar xf site.tar
        find site -type d -exec chmod 755 {} +
        find site -type f -exec chmod 644 {} +
        grep -rl '^#!' site | tr '\\n' '\\0' | xargs -0 chmod 755
        chmod -R go-rwx site/conf/secrets
        chmod 1777 site/upload
    """,
    "text-encoding": """
        mkdir out
        python3 - <<'PY'
from pathlib import Path
rows = []
for path in sorted(Path("notes").iterdir()):
    for name in ("utf-8-sig", "utf-16", "latin-1"):
        try:
            text = path.read_text(name)
            break
        except UnicodeError:
            continue
    Path("out", path.name).write_text(text)
    rows.append(f"{path.name}\\t{name}\\t{len(text)}")
Path("out/index.tsv").write_text("\\n".join(rows) + "\\n")
PY
    """,
    "config-migration": """
        python3 - <<'PY'
import configparser, json
parser = configparser.ConfigParser(strict=False, interpolation=None, inline_comment_prefixes=("#", ";"))
parser.read("gateway.conf")
sections = {name.partition(":")[0].strip(): dict(parser[name]) for name in parser.sections()}
open("gateway.json", "w").write(json.dumps(sections, indent=2) + "\\n")
PY
    """,
    "archive-forensics": """
        mkdir recovered
        tar xf evidence.tar -O snapshots/2024-05-14.tar.gz | tar xz -C /tmp
        python3 -c "import zipfile; zipfile.ZipFile('/tmp/srv/export.zip').extract('ledger.csv', 'recovered')"
        cat > findings.json <<'JSON'
{"payment": "P-1047", "before": "1250.00", "after": "7250.00", "person": "batch", "at": "2024-05-15T02:41:07Z"}
JSON
    """,
}
"""An answer to each task without a draft of its own that runs, looks right, and falls into the trap."""


@pytest.fixture(params=sorted(TASKS))
def task(request: pytest.FixtureRequest) -> Task:
    return TASKS[request.param]


@pytest.fixture
def workspace(task: Task, tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    copy_workspace(task, folder)
    return folder


def run(workspace: Path, command: str) -> Observation:
    with Sandbox(workspace) as sandbox:
        return sandbox.run(command)


def reward(task: Task, workspace: Path) -> float:
    verdict = verify(task, workspace, workspace.parent)
    assert verdict.tests is not None
    assert 2 <= verdict.tests.resolved <= 5
    assert verdict.reward == verdict.tests.passed / verdict.tests.resolved
    return verdict.reward


def do_right(recipe: Recipe, workspace: Path) -> None:
    """Do what a worker without any weakness would do."""
    if recipe.write is None:
        assert run(workspace, recipe.solve).exit_code == 0
    else:
        (workspace / Path(recipe.write.path).relative_to("/app")).write_text(recipe.write.payload, encoding="utf-8")


def assert_check_fails(recipe: Recipe, workspace: Path) -> None:
    seen = run(workspace, recipe.check)
    assert seen.exit_code != 0
    assert "CHECK FAILED: " in seen.content


def test_nothing_done_is_worth_nothing(task: Task, workspace: Path) -> None:
    assert reward(task, workspace) == 0.0
    assert_check_fails(RECIPES[task.id], workspace)


def test_the_solution_is_right(task: Task, workspace: Path) -> None:
    run_oracle(task, workspace)
    assert reward(task, workspace) == 1.0


def test_the_recipe_is_right_and_its_check_says_so(task: Task, workspace: Path) -> None:
    recipe = RECIPES[task.id]
    do_right(recipe, workspace)
    seen = run(workspace, recipe.check)
    assert (seen.exit_code, seen.content.splitlines()[-1]) == (0, "CHECK OK")
    assert reward(task, workspace) == 1.0


def test_a_plausible_answer_is_not_enough_and_can_be_mended(task: Task, workspace: Path) -> None:
    recipe = RECIPES[task.id]
    assert run(workspace, recipe.draft or SLOPPY[task.id]).exit_code == 0
    assert reward(task, workspace) < 1.0
    if recipe.draft:
        assert_check_fails(recipe, workspace)
        do_right(recipe, workspace)
        assert reward(task, workspace) == 1.0


def test_looking_around_changes_nothing_and_says_the_same_again(task: Task, workspace: Path) -> None:
    recipe = RECIPES[task.id]
    commands = recipe.look + recipe.wander
    assert len(set(commands)) == len(commands)
    before = sorted(path.relative_to(workspace) for path in workspace.rglob("*"))
    seen = [run(workspace, command) for command in commands]
    assert [one.content for one in seen] == [run(workspace, command).content for command in commands]
    assert all(one.exit_code == 0 and len(one.content) < 2000 for one in seen)
    assert sorted(path.relative_to(workspace) for path in workspace.rglob("*")) == before


def test_every_instruction_is_recognised_by_its_own_recipe_alone() -> None:
    assert sorted(RECIPES) == sorted(TASKS)
    for task in TASKS.values():
        flat = " ".join(task.instruction.split())
        assert [name for name, recipe in RECIPES.items() if " ".join(recipe.match.split()) in flat] == [task.id]


def test_the_long_file_fits_no_default_call_but_a_mended_one() -> None:
    long = [recipe for recipe in RECIPES.values() if recipe.weakness == "long-write"]
    assert [recipe.task for recipe in long] == ["config-migration"]
    written = long[0].write
    assert written is not None
    assert count_tokens(written.payload) in OUTPUT_LIMITS
    assert count_json_tokens({"path": written.path, "content": written.payload}) in OUTPUT_LIMITS


def test_the_wandering_worker_has_two_dozen_places_to_look_at() -> None:
    assert [len(recipe.wander) for recipe in RECIPES.values() if recipe.weakness == "wanders"] == [24]
