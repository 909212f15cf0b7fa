"""Run directories of the reference system under our installed tools: read, adopted, finished, in the same format."""

import json
import shutil
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[2] / "packages/wmo-population/tests/vectors"
SHARED = Path(__file__).parents[3] / "shared" / "conformance"
"""The vectors' source, beside the checkout where it is handed out with them."""
TASKS = ("b-task", "a-task")
PROPOSE = """\
echo turn >> "$1"
mkdir -p candidate/src
echo 'export class Agent {}' > candidate/src/index.ts
wc -l < "$1" >> candidate/SYSTEM.md
echo "Number the turns"
"""
SUMMARY = {
    "run-partial": ["scored", "scored", "invalid"],
    "run-pending": ["scored", "scored", "invalid", "scored"],
    "run-complete": ["scored", "scored", "invalid", "scored", "scored"],
}


@pytest.fixture
def place(tmp_path):
    """A folder with copies of the runs, the suite that they name, their seed, and a proposer that counts its turns."""
    for name in TASKS:
        task = tmp_path / "suite" / name
        (task / "environment/workspace").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "task.toml").write_text('version = "1.0"\n')
        (task / "instruction.md").write_text("Do it.\n")
        (task / "tests/test.sh").write_text("echo 0.25 > /logs/verifier/reward.txt\n")
    for name in SUMMARY:
        shutil.copytree(VECTORS / name, tmp_path / name)
    shutil.copytree(VECTORS / "run-complete/candidates/candidate-0000/source", tmp_path / "seed")
    (tmp_path / "propose.sh").write_text(PROPOSE)
    (tmp_path / "turns").write_text("")
    return tmp_path


@pytest.fixture
def tool(shell, place):
    """Run a line in that folder; gives the document that it prints."""

    def run(line, code=0):
        done = shell(line, cwd=place)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return run


def files(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


def keys(value):
    """Give the shape of a JSON value: the keys at every level, in the order in which they are written."""
    if isinstance(value, dict):
        return [(key, keys(item)) for key, item in value.items()]
    return sorted({repr(keys(item)) for item in value}) if isinstance(value, list) else None


def reference_shapes() -> dict[str, object]:
    """Give the shapes that the reference writes, by file name."""
    shapes: dict[str, list[object]] = {}
    for path in VECTORS.rglob("*.json"):
        shapes.setdefault(path.name, []).append(keys(json.loads(path.read_text())))
    return shapes


@pytest.mark.parametrize("name", SUMMARY)
def test_status_verify_and_best_read_a_run_of_the_reference_and_change_nothing(name, tool, place):
    before = files(place / name)
    status = tool(f"wmo-state status {name}")
    assert [outcome["kind"] for outcome in status["outcomes"]] == SUMMARY[name]
    assert [outcome["score"] for outcome in status["outcomes"]] == [0.75, 0.5, None, 0.75, 0.75][: len(SUMMARY[name])]
    assert status["outcomes"][2]["note"].endswith("café")
    assert status["best"] == {"candidate_id": "candidate-0000", "slot": 0, "score": 0.75}
    check = tool(f"wmo-state verify {name}")
    assert (check["ok"], check["slots"], check["problems"]) == (True, len(SUMMARY[name]), [])
    best = tool(f"wmo-state best {name}")
    assert {file["path"]: file["content"].encode() for file in best["files"]} == files(place / "seed")
    assert files(place / name) == before


@pytest.mark.parametrize(("name", "turns", "scored"), [("run-partial", 2, [3, 4]), ("run-pending", 0, [4])])
def test_a_run_that_was_cut_short_is_finished_in_the_references_format(name, turns, scored, tool, shell, place):
    run = place / name
    before = files(run)
    init = f"wmo-state init {name} --seed seed --suite suite --slots 4 --tasks {','.join(TASKS)} --attempts 2"
    script, turns_file = place / "propose.sh", place / "turns"
    proposer = f"--proposer command --allow read:{script} --allow write:{turns_file} -- sh {script} {turns_file}"
    tool(f"{init} --reward-mode positive-binary {proposer}")
    done = shell(f"invoke resume --run {run}")
    assert done.returncode == 0, done.stderr

    assert len((place / "turns").read_text().splitlines()) == turns
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [event["slot"] for event in events if event["event"] == "scored"] == scored
    status = tool(f"wmo-state status {name}")
    assert status["completed"]
    assert [outcome["score"] for outcome in status["outcomes"]][-len(scored) :] == [1.0] * len(scored)
    check = tool(f"wmo-state verify {name}")
    assert (check["ok"], check["slots"], check["problems"]) == (True, 5, [])

    after = files(run)
    changed = {path for path in before if after.get(path) != before[path]}
    assert changed == {"state.json"} | {path for path in before if path.endswith("pending.json")}
    assert (
        json.loads(after["state.json"])["outcomes"][: len(SUMMARY[name])]
        == json.loads(before["state.json"])["outcomes"]
    )
    same_as_the_reference(after)
    if name == "run-pending":
        complete = files(VECTORS / "run-complete")
        differ = {path for path in complete if after.get(path) != complete[path]}
        assert differ == {"state.json", "candidates/candidate-0004/report.json"}  # another score, from a real verifier


def same_as_the_reference(after: dict[str, bytes]) -> None:
    """Every file that the reference has, too: its names, keys, order and byte layout."""
    shapes = reference_shapes()
    for path, data in after.items():
        name = path.split("/")[-1]
        if name not in shapes or path.startswith("proposals/"):
            continue
        value = json.loads(data)
        assert data.decode() == json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n", path
        if name == "state.json":
            found = {entry["kind"]: sorted(entry) for entry in value["outcomes"]}
            assert found == {
                "scored": ["candidate_id", "doc_hash", "evidence_dir", "kind", "score", "slot"],
                "invalid": ["candidate_id", "evidence_dir", "kind", "reason", "slot"],
            }
        elif name == "report.json":
            assert [key for key, _ in keys(value)] == [key for key, _ in shapes[name][0]]
            assert {tuple(sorted(cell)) for cell in value["cells"]} == {
                ("artifact_dir", "attempt", "infra_failed", "note", "passed", "reward", "task_id", "tests")
            }
        else:
            assert keys(value) in shapes[name], path


def test_our_copies_are_the_vectors_that_were_handed_out():
    """Where the folder lies beside the checkout (CI); the copies are what is tested everywhere."""
    copies = files(VECTORS)
    assert {path.split("/")[0] for path in copies} == set(SUMMARY)
    if SHARED.is_dir():
        copies["trees.json"] = (VECTORS.parents[2] / "wmo-harness/tests/vectors/trees.json").read_bytes()
        assert files(SHARED) == copies
