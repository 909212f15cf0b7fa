"""Shared by the tests: the reference's vectors, and a scorer and proposer that play them back."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from wmo_contracts.score import ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import read_tree
from wmo_population import CandidateProposal, CandidateProposalError, EvaluatedCandidate, candidate_slot_id

VECTORS = Path(__file__).parent / "vectors"
COMPLETE = VECTORS / "run-complete"


class Replay:
    """Plays run-complete back as scorer and proposer; `calls` (or the file `log`) counts what it was asked."""

    request = ScoreRequest(task_ids=("b-task", "a-task"), attempts=2)
    seed = read_tree(COMPLETE / "candidates/candidate-0000/source")

    def __init__(self, log: Path | None = None) -> None:
        self.calls: list[str] = []
        self.log = log

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self.log:
            with self.log.open("a") as file:
                file.write(call + "\n")

    def score(self, candidate_id: str, tree: SourceTree) -> ScoreReport:
        self._note(f"score {candidate_id}")
        folder = COMPLETE / "candidates" / candidate_id
        assert tree == read_tree(folder / "source")
        return ScoreReport.model_validate_json((folder / "report.json").read_bytes())

    def propose(self, slot: int, seed: SourceTree, population: Sequence[EvaluatedCandidate]) -> CandidateProposal:
        self._note(f"propose {slot}")
        assert seed == self.seed == population[0].tree
        folder = COMPLETE / "candidates" / candidate_slot_id(slot)
        if (folder / "error.json").exists():
            error = json.loads((folder / "error.json").read_text())
            raise CandidateProposalError(error["reason"], error["evidence_dir"])
        return CandidateProposal(candidate_slot_id(slot), read_tree(folder / "source"))


def bytes_of(run_dir: Path) -> dict[str, bytes]:
    """Give every file below a directory."""
    return {str(path.relative_to(run_dir)): path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}


@pytest.fixture
def replay() -> type[Replay]:
    return Replay


@pytest.fixture
def run_files() -> Callable[[Path], dict[str, bytes]]:
    return bytes_of


@pytest.fixture
def complete() -> Path:
    return COMPLETE


@pytest.fixture
def vector(tmp_path: Path) -> Callable[[str], Path]:
    """Give a copy of a vector by name, to be changed at will."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(VECTORS / name, tmp_path / name))

    return copy
