"""REQUEST.md says what a stranger needs, and the same for the same run."""

from pathlib import Path

from wmo_harness.pi_agent import seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import parse_tree
from wmo_propose.request import first_line, write_request
from wmo_propose.workspace import ManifestEntry


def entry(slot: int, score: float | None) -> ManifestEntry:
    return ManifestEntry(
        candidate_id=f"candidate-{slot:04d}", slot=slot, kind="invalid" if score is None else "scored", score=score,
        pass_rate=score, summary="", reason="")  # fmt: skip


def test_it_names_the_standing_the_evidence_the_rules_and_the_checks(vendor: Path) -> None:
    spec = parse_tree(seed_tree(vendor))
    text = write_request(3, 4, spec, [entry(0, 0.25), entry(1, None), entry(2, 0.5)])
    for part in (
        "slot 3 of 4",
        "seed scores 0.2500",
        "candidate-0002 with 0.5000",
        "history/manifest.json",
        "config.toml",
        "stripTypeScriptTypes",
        "no repair turn",
        "Never answers for particular tasks",
        "src/index.ts",
        "typebox",
        "at most 200 characters",
        "single dashes",
        "8 consecutive words",
    ):
        assert part in text
    assert "$" not in text
    assert text == write_request(3, 4, spec, [entry(0, 0.25), entry(1, None), entry(2, 0.5)])


def test_a_tie_goes_to_the_earliest(vendor: Path) -> None:
    spec = parse_tree(seed_tree(vendor))
    assert "No candidate beats it so far." in write_request(2, 2, spec, [entry(0, 0.5), entry(1, 0.5)])


def test_a_kit_python_seed_is_not_told_about_typescript() -> None:
    text = write_request(1, 1, parse_tree(SourceTree.from_mapping({"SYSTEM.md": "Work.\n"})), [entry(0, 0.5)])
    for part in ("`runtime.py`", "kit.BadToolCall", "```python\n", "def run(kit: Any)", "every `.py` file parses"):
        assert part in text
    for part in ("src/index.ts", "stripTypeScriptTypes", "nudges after", "$"):
        assert part not in text


def test_a_summary_is_one_line_of_bounded_length() -> None:
    assert first_line("\n  Do this.  \nand that") == "Do this."
    assert first_line(" \n") == ""
    assert len(first_line("x" * 900)) == 200


def test_a_judged_run_is_told_of_its_judge_and_not_of_verifiers(vendor: Path) -> None:
    spec = parse_tree(seed_tree(vendor))
    text = write_request(1, 4, spec, [entry(0, 0.25)], judged=True)
    for part in (
        "a judge, another model",
        "assertions\n  failed is in its `note`",
        "instruction or the assertions about it",
    ):
        assert part in text
    assert "verifier checks" not in text
    assert "`verifier/`" not in text
    assert "a verifier checks each outcome" in write_request(1, 4, spec, [entry(0, 0.25)])


def test_a_simulated_run_is_told_what_plays_the_workspace(vendor: Path) -> None:
    spec = parse_tree(seed_tree(vendor))
    assert "in a Linux sandbox." in write_request(1, 4, spec, [entry(0, 0.25)])
    assert "its tools answer is predicted" in write_request(1, 4, spec, [entry(0, 0.25)], environment="world-model")
    assert "only calls that were recorded" in write_request(1, 4, spec, [entry(0, 0.25)], environment="replay")
