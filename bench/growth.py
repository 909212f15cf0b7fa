"""What a run costs as it grows: a run of 1,000 slots against one of 10, with trees of pi's size.

A boundary is one slot: an accepted proposal, its checkpoint, its report, the commit. What its proposer and its scorer
would take is not in it.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from wmo_contracts.score import ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_population import CandidateProposal, EvaluatedCandidate, SlotOutcome, candidate_slot_id, optimize
from wmo_population.recorded import open_run
from wmo_propose.workspace import build_workspace, manifest
from wmo_suites.box import Bind, bwrap_argv, check_bwrap

from bench.big_run import ITERATIONS, Material, build_run, gather
from bench.timing import Row, command, ratio_row, side_by_side

FEW, MANY = 10, 1_000
BOUNDARY_LIMIT, NEXT_LIMIT = 1.5, 3.0
ROUNDS = 9
COMMANDS: dict[str, tuple[str, ...]] = {
    "wmo-state next": ("wmo-state", "next", "RUN"),
    "wmo-state init": ("wmo-state", "init", "RUN"),
    "wmo-state status": ("wmo-state", "status", "RUN"),
    "wmo-state verify": ("wmo-state", "verify", "RUN"),
    "wmo-score --run, until it would score": ("wmo-score", "--run", "RUN", "--attempts", "9"),
}
"""wmo-score is asked for what the run's record contradicts, so that it stops (78) once it has opened the run."""
CONFLICT = 78


def measure() -> list[Row]:
    """Give the rows: boundaries, what answers at once, and (without a limit) what reads the whole run."""
    with tempfile.TemporaryDirectory(prefix="wmo-bench-") as folder:
        started = time.perf_counter()
        material, few, many = gather(), Path(folder) / "few", Path(folder) / "many"
        build_run(few, FEW, material)
        build_run(many, MANY, material)
        built = f"the two runs were built in {time.perf_counter() - started:.0f} s"
        rows = [
            _commands_row(name, argv, few, many, NEXT_LIMIT if name == "wmo-state next" else None)
            for name, argv in COMMANDS.items()
        ]
        rows.append(_pair("a proposer's workspace, mounted", _workspace, few, many, rounds=1))
        by_tools = side_by_side(
            {"few": lambda: _tools_boundary(few, material), "many": lambda: _tools_boundary(many, material)}, ROUNDS
        )
        in_process = _embedded_boundaries(few, many, material)
        boundaries = [
            _row("boundary, each step opens the run", by_tools, BOUNDARY_LIMIT),
            _row("boundary, in one process", in_process, BOUNDARY_LIMIT),
        ]
        boundaries[0]["notes"].append(built)
        return boundaries + rows


def _row(name: str, seconds: dict[str, float], limit: float | None) -> Row:
    return ratio_row(f"{name}: slot {MANY}", seconds["many"], base=(f"slot {FEW}", seconds["few"]), limit=limit)


def _pair(name: str, case: Callable[[Path], object], few: Path, many: Path, *, rounds: int) -> Row:
    return _row(name, side_by_side({"few": lambda: case(few), "many": lambda: case(many)}, rounds), None)


def _commands_row(name: str, argv: Sequence[str], few: Path, many: Path, limit: float | None) -> Row:
    def on(run: Path) -> Callable[[], object]:
        tool = str(Path(sys.executable).parent / argv[0])
        words = [str(run) if word == "RUN" else word for word in argv[1:]]
        return command(tool, *words, code=CONFLICT if argv[0] == "wmo-score" else 0)

    rounds = ROUNDS if limit else 1
    return _row(name, side_by_side({"few": on(few), "many": on(many)}, rounds), limit)


def _workspace(run_dir: Path) -> None:
    """Build a proposer's workspace and start `true` in a box that shows it."""
    with open_run(run_dir) as run:
        history = manifest(run.layout, run.state.entries)
        run.layout.proposal_dir(run.next.slot).mkdir(parents=True, exist_ok=True)  # wmo-propose opens its evidence
        workspace = build_workspace(run.work_dir / "bench", run.layout, history, run.plan.seed, "", link=False)
        binds = [Bind(workspace.root, "/app", writable=True)]
        binds += [Bind(mount.host, f"/app/{mount.inside}") for mount in workspace.read_only()]
        subprocess.run(bwrap_argv(["true"], host=check_bwrap(), binds=binds), check=True)


def _tools_boundary(run_dir: Path, material: Material) -> None:
    """Do one slot as wmo-propose and wmo-score do it: two processes' worth of opening the run."""
    with open_run(run_dir) as run:
        slot = run.next.slot
        run.record_pending(material.tree(slot), run.layout.evidence_dir(slot))
    with open_run(run_dir) as run:
        run.commit_scored(material.report(slot, doc_hash(parse_tree(run.due.tree))))


class _Embedder:
    """Proposer, scorer and stopwatch of a search by `optimize`: `seconds` holds what each boundary but one took."""

    def __init__(self, run_dir: Path, material: Material, between: Callable[[], object]) -> None:
        self.run_dir, self.material, self.between = run_dir, material, between
        self.seconds: list[float] = []
        self._since: float | None = None

    @property
    def request(self) -> ScoreRequest:
        """The matrix that the run was made with."""
        return self.material.request

    def propose(self, slot: int, seed: SourceTree, population: Sequence[EvaluatedCandidate]) -> CandidateProposal:
        """Give the slot's candidate."""
        if len(population) != slot:
            raise RuntimeError(f"slot {slot} was shown {len(population)} candidates")
        return CandidateProposal(candidate_slot_id(slot), self.material.tree(slot))

    def score(self, candidate_id: str, tree: SourceTree) -> ScoreReport:
        """Give the candidate's report."""
        return self.material.report(int(candidate_id.rpartition("-")[2]), doc_hash(parse_tree(tree)))

    def search(self, boundaries: int) -> None:
        """Do so many boundaries. The first is not measured: before it, the run is read."""
        self._since = None
        optimize(
            self.material.seed,
            self,
            self,
            ITERATIONS,
            run_dir=self.run_dir,
            max_new_boundaries=boundaries,
            on_boundary=self._on_boundary,
        )

    def _on_boundary(self, _outcome: SlotOutcome) -> None:
        if self._since is not None:
            self.seconds.append(time.perf_counter() - self._since)
        self.between()
        self._since = time.perf_counter()


def _embedded_boundaries(few: Path, many: Path, material: Material) -> dict[str, float]:
    """Give the median boundary of either run; after each of the long run's, the short one does two."""
    small = _Embedder(few, material, lambda: None)
    large = _Embedder(many, material, lambda: small.search(2))
    large.search(ROUNDS + 1)
    return {"few": statistics.median(small.seconds), "many": statistics.median(large.seconds)}
