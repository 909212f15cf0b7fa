"""The workspace on disk: what is mounted, what is copied within budgets, which gaps are named."""

from collections.abc import Callable
from pathlib import Path

import pytest
from wmo_contracts.run import InvalidEntry, ScoredEntry
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import read_tree
from wmo_kit.errors import BadDocument
from wmo_propose.evidence_copy import Budget, copy_within_budget, fits_budget
from wmo_propose.workspace import Workspace, build_workspace, manifest

TREE = SourceTree.from_mapping({"SYSTEM.md": "Work.\n"})
SEED_HASH = "1bafc6ac8594a210ba7409cfff85f5f1"
"""Of the seed that make_run scores."""
SCORED = ScoredEntry(slot=0, candidate_id="candidate-0000", score=0.5, doc_hash=SEED_HASH, evidence_dir="")
INVALID = InvalidEntry(slot=1, candidate_id="candidate-0001", reason="bad", evidence_dir="proposals/slot-0001")


def build(made, root: Path, *entries, link: bool = False, judged: bool = False) -> Workspace:
    history = manifest(made.layout, entries)
    return build_workspace(root, made.layout, history, TREE, "Do it.\n", link=link, judged=judged)


def test_evidence_is_mounted_read_only_and_only_the_seed_is_copied(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    built = build(made, tmp_path / "ws", SCORED)
    assert read_tree(built.candidate) == TREE
    assert [(mount.host, mount.inside) for mount in built.read_only()] == [
        (built.root / "REQUEST.md", "REQUEST.md"),
        (built.root / "history", "history"),
        (made.layout.candidate_dir(0), "history/candidate-0000"),
        (made.dir / "proposals", "proposals"),
        (built.root / "proposals/slot-0001", "proposals/slot-0001"),
    ]
    for name in ("history/candidate-0000", "proposals/slot-0001"):
        assert list((built.root / name).iterdir()) == []


def test_linked_evidence_is_readable_in_place(make_run: Callable, tmp_path: Path) -> None:
    built = build(make_run(), tmp_path / "ws", SCORED, link=True)
    assert "no_tool_call" in (built.root / "history/candidate-0000/trials/csv/attempt-1/wmo-run.json").read_text()


SECRET = "The answer names the row."


def judge_trials(made) -> None:
    """Put a judge's evidence into every trial, and folders of the same name where they are something else."""
    for trial in made.layout.candidate_dir(0).glob("trials/*/attempt-1"):
        (trial / "judge").mkdir()
        for name in ("verdict.json", "exchanges.json"):
            (trial / "judge" / name).write_text(SECRET)
        (trial / "verifier" / "judge").mkdir()
        (trial / "verifier" / "judge" / "own.txt").write_text("shown")
    (made.layout.source_dir(0) / "judge").mkdir()
    (made.layout.source_dir(0) / "judge" / "own.txt").write_text("shown")


def files_seen(built: Workspace) -> dict[str, Path]:
    """Give every file of the workspace as the proposer sees it, mounts followed."""
    places = [(built.root, "")] + [(mount.host, mount.inside) for mount in built.mounts]
    return {
        f"{inside}/{path.relative_to(host)}".lstrip("/"): path
        for host, inside in places
        for path in ([host] if host.is_file() else host.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("large", [False, True])
def test_a_judges_evidence_is_nowhere_in_the_workspace(make_run: Callable, *, large: bool) -> None:
    made = make_run()
    judge_trials(made)
    trial = "trials/csv/attempt-1"
    if large:
        (made.layout.candidate_dir(0) / trial / "wmo-run.json").write_text("x" * (3 << 20))
    seen = files_seen(build(made, made.dir / ".work" / "ws", SCORED, judged=True))
    assert not [name for name, path in seen.items() if SECRET in path.read_text()]
    inside = f"history/candidate-0000/{trial}"
    assert {name.removeprefix(inside) for name in seen if name.startswith(inside)} == {
        "/wmo-run.json", "/verifier/reward.txt", "/verifier/judge/own.txt"}  # fmt: skip
    assert {"history/candidate-0000/source/judge/own.txt", "history/candidate-0000/report.json"} <= seen.keys()
    assert ("history/candidate-0000/EVIDENCE-TRUNCATED.md" in seen) == large
    if not large:
        kept = made.layout.candidate_dir(0) / trial / "wmo-run.json"
        assert seen[f"{inside}/wmo-run.json"].samefile(kept), "no room is taken"


def test_without_a_judge_it_would_be_seen(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    judge_trials(made)
    assert any(SECRET in path.read_text() for path in files_seen(build(made, tmp_path / "ws", SCORED)).values())


def test_a_slot_more_is_one_mount_more(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    rejected = [
        InvalidEntry(slot=slot, candidate_id=f"candidate-{slot:04d}", reason="bad", evidence_dir="")
        for slot in range(1, 30)
    ]
    for entry in rejected:
        made.layout.candidate_dir(entry.slot).mkdir()
        made.layout.error(entry.slot).write_text("{}")
        made.layout.proposal_dir(entry.slot).mkdir(parents=True)
    few = len(build(made, tmp_path / "few", SCORED).mounts)
    assert len(build(made, tmp_path / "many", SCORED, *rejected).mounts) - few == len(rejected)


def test_a_turn_above_the_budget_is_cut_and_lies_over_the_mount_of_all(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    made.layout.proposal_dir(1).mkdir(parents=True)
    (made.layout.proposal_dir(1) / "events.json").write_bytes(b"x" * (2 << 20) + b"y")
    built = build(made, tmp_path / "ws", SCORED, INVALID)
    assert [(mount.host, mount.inside) for mount in built.mounts[-3:]] == [
        (made.dir / "proposals", "proposals"),
        (built.root / "proposals/slot-0001", "proposals/slot-0001"),
        (built.root / "proposals/slot-0002", "proposals/slot-0002"),
    ]
    assert (
        "cut out of the middle: events.json" in (built.root / "proposals/slot-0001/EVIDENCE-TRUNCATED.md").read_text()
    )


def test_missing_evidence_is_named(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    (made.layout.candidate_dir(0) / "trials").rename(tmp_path / "trials")
    built = build(made, tmp_path / "ws", SCORED, INVALID)
    assert "trials were not kept" in (built.root / "history/candidate-0000/NO-EVIDENCE.md").read_text()
    invalid = (built.root / "history/candidate-0001/NO-EVIDENCE.md").read_text()
    assert invalid == (
        "This proposal was rejected before it was scored: bad\n\nThe turn itself is in proposals/slot-0001/.\n"
    )


def test_evidence_above_the_budget_is_copied_in_part_and_said_so(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    trial = made.layout.candidate_dir(0) / "trials" / "csv" / "attempt-1"
    (trial / "wmo-run.json").write_bytes(b"A" * (2 << 20) + b"M" * 5 + b"Z" * (1 << 20))
    built = build(made, tmp_path / "ws", SCORED)
    inside = built.root / "history/candidate-0000"
    assert "history/candidate-0000/trials" not in [mount.inside for mount in built.mounts]
    cut = (inside / "trials/csv/attempt-1/wmo-run.json").read_bytes()
    assert cut == b"A" * (1 << 20) + b"\n[... %d bytes left out ...]\n" % ((1 << 20) + 5) + b"Z" * (1 << 20)
    assert (inside / "trials/logs/attempt-1/wmo-run.json").read_bytes() == (
        made.layout.candidate_dir(0) / "trials/logs/attempt-1/wmo-run.json"
    ).read_bytes()
    assert (
        "1048581 bytes cut out of the middle: csv/attempt-1/wmo-run.json"
        in (inside / "EVIDENCE-TRUNCATED.md").read_text()
    )


def test_the_total_budget_leaves_whole_files_out_in_order(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("a/1", "b/2", "c/3"):
        (source / name).parent.mkdir(parents=True)
        (source / name).write_bytes(b"x" * 10)
    (source / "c" / "link").symlink_to("/etc/passwd")
    assert fits_budget(source, Budget(total=30, file=10))
    assert not fits_budget(source, Budget(total=29, file=10))
    assert not fits_budget(source, Budget(total=30, file=9))
    note = copy_within_budget(source, tmp_path / "copy", Budget(total=25, file=10))
    assert "- left out: c/3" in note
    assert sorted(path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")) == [
        "a", "a/1", "b", "b/2"]  # fmt: skip


def test_a_workspace_never_lies_over_an_old_one(make_run: Callable, tmp_path: Path) -> None:
    made = make_run()
    build(made, tmp_path / "ws", SCORED)
    with pytest.raises(FileExistsError):
        build(made, tmp_path / "ws", SCORED)


def test_a_locked_folder_of_the_agent_can_be_removed(make_run: Callable, tmp_path: Path) -> None:
    built = build(make_run(), tmp_path / "ws", SCORED)
    (built.candidate / "a" / "b").mkdir(parents=True)
    (built.candidate / "link").symlink_to("/")
    (built.candidate / "a" / "b").chmod(0)
    (built.candidate / "a").chmod(0)
    built.candidate.chmod(0)
    built.root.chmod(0)
    built.unlock()
    places = (built.root, built.candidate, built.candidate / "a", built.candidate / "a" / "b")
    assert [place.stat().st_mode & 0o777 for place in places] == [0o700] * 4


@pytest.mark.parametrize("content", ["", "[]", '{"status": "accepted", "tree_hash": 1}'])
def test_a_damaged_verdict_is_named(make_run: Callable, content: str) -> None:
    made = make_run()
    made.layout.proposal_dir(1).mkdir(parents=True)
    (made.layout.proposal_dir(1) / "status.json").write_text(content)
    with pytest.raises(BadDocument, match=r"slot 1: .*slot-0001/status\.json'.*: restore it"):
        manifest(made.layout, [SCORED, INVALID])


def test_a_report_that_is_not_the_indexed_one_is_not_shown_to_a_proposer(make_run: Callable) -> None:
    made = make_run()
    with pytest.raises(BadDocument, match=r"slot 0: .*report\.json' scores 0\.5, .*state\.json' says 0\.75"):
        manifest(made.layout, [SCORED.model_copy(update={"score": 0.75})])


def test_the_status_of_another_system_is_no_summary(make_run: Callable) -> None:
    made = make_run()
    made.layout.proposal_dir(1).mkdir(parents=True)
    (made.layout.proposal_dir(1) / "status.json").write_text('{"state": "done"}')
    assert manifest(made.layout, [SCORED, INVALID])[1].summary == ""
