"""The reference's run directories, byte for byte: `tests/vectors` was written by world-model-optimizer 0.2.0."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from wmo_contracts.score import ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import read_tree
from wmo_population import (
    CandidateProposal,
    CandidateProposalError,
    EvaluatedCandidate,
    candidate_slot_id,
    optimize,
)

VECTORS = Path(__file__).parent / "vectors"
COMPLETE = VECTORS / "run-complete"
SLOTS = 4


class Replay:
    """Plays back the vectors' reports and proposals as scorer and proposer, and counts what it is asked."""

    def __init__(self) -> None:
        self.scored: list[str] = []
        self.proposed: list[int] = []
        self.request = ScoreRequest(task_ids=("b-task", "a-task"), attempts=2)

    def score(self, candidate_id: str, tree: SourceTree) -> ScoreReport:
        self.scored.append(candidate_id)
        folder = COMPLETE / "candidates" / candidate_id
        assert tree == read_tree(folder / "source")
        return ScoreReport.model_validate_json((folder / "report.json").read_bytes())

    def propose(self, slot: int, seed: SourceTree, population: Sequence[EvaluatedCandidate]) -> CandidateProposal:
        self.proposed.append(slot)
        assert seed == read_tree(COMPLETE / "candidates/candidate-0000/source") == population[0].tree
        folder = COMPLETE / "candidates" / candidate_slot_id(slot)
        if (folder / "error.json").exists():
            error = json.loads((folder / "error.json").read_text())
            raise CandidateProposalError(error["reason"], error["evidence_dir"])
        return CandidateProposal(candidate_slot_id(slot), read_tree(folder / "source"))


def bytes_of(run_dir: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run_dir)): path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}


def finish(run_dir: Path) -> Replay:
    replay = Replay()
    seed = read_tree(COMPLETE / "candidates/candidate-0000/source")
    result = optimize(seed, replay, replay, SLOTS, run_dir=run_dir)
    assert result.completed
    assert result.best_score == 0.75
    assert result.best is not None
    assert result.best.candidate_id == "candidate-0000"  # 3 and 4 score the same, the earliest wins
    assert [outcome.kind for outcome in result.outcomes] == ["scored", "scored", "invalid", "scored", "scored"]
    assert len(result.population) == 4
    return replay


def test_the_same_inputs_give_the_reference_run(tmp_path: Path) -> None:
    replay = finish(tmp_path / "run")
    assert bytes_of(tmp_path / "run") == bytes_of(COMPLETE)
    assert replay.proposed == [1, 2, 3, 4]
    assert replay.scored == ["candidate-0000", "candidate-0001", "candidate-0003", "candidate-0004"]


@pytest.mark.parametrize(
    ("name", "proposed", "scored"),
    [
        ("run-partial", [3, 4], ["candidate-0003", "candidate-0004"]),
        ("run-pending", [], ["candidate-0004"]),
        ("run-complete", [], []),
    ],
)
def test_a_run_of_the_reference_resumes(tmp_path: Path, name: str, proposed: list[int], scored: list[str]) -> None:
    run = Path(shutil.copytree(VECTORS / name, tmp_path / "run"))
    replay = finish(run)
    assert (replay.proposed, replay.scored) == (proposed, scored)
    assert bytes_of(run) == bytes_of(COMPLETE)
