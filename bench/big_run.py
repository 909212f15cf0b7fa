"""Run directories of any size, written at once: what growth.py measures on.

Every candidate is the real seed with one line changed, scored on the starter suite's tasks, with trials and a
proposer's turn as evidence. What is the same in all of them is one file with many names (hard links).
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.run import ProposalFile, RunSettings, StateFile
from wmo_contracts.score import ScoreCell, ScoreReport, ScoreRequest
from wmo_harness.pi_agent import seed_tree
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_harness.tree_io import write_tree
from wmo_kit.config import Roles
from wmo_population.durable import write_part
from wmo_population.events import append_event
from wmo_population.layout import RunLayout
from wmo_population.outcomes import EvaluatedCandidate, SlotOutcome
from wmo_population.run_record import write_settings
from wmo_population.slots import candidate_slot_id

ROOT = Path(__file__).parents[1]
SUITE = ROOT / "suites" / "starter"
CHANGED = "SYSTEM.md"
ITERATIONS = 100_000
"""More than any fixture has: the next step is always a proposal."""
TRIAL_BYTES = {"episode.json": 4_000, "wmo-run.json": 12_000, "verifier/output.txt": 500, "verifier/reward.txt": 4}
"""What a trial of the starter suite leaves, in round numbers; without cell.json, as in a run of the reference."""
JUDGE_BYTES = {"judge/verdict.json": 1_000, "judge/exchanges.json": 15_000}
"""And what a judge leaves, where one is in the verifier's place."""
REQUEST_BYTES, TRANSCRIPT_BYTES = 6_000, 20_000
"""And what a turn of a proposer leaves, next to its source."""


@dataclass(frozen=True)
class Material:
    """What all runs are made of."""

    seed: SourceTree
    request: ScoreRequest
    judged: bool = False

    def tree(self, slot: int) -> SourceTree:
        """Give a slot's harness: slot 0 is the seed, any other has a line of its own."""
        files = self.seed.as_mapping()
        if slot > 0:
            files[CHANGED] += f"Think {slot} times before you answer.\n"
        return SourceTree.from_mapping(files)

    def report(self, slot: int, document: str) -> ScoreReport:
        """Give a slot's report; some cells pass, which ones depends on the slot."""
        cells = tuple(
            ScoreCell(
                task_id=task,
                attempt=attempt,
                reward=float(slot >> place & 1),
                passed=bool(slot >> place & 1),
                artifact_dir=f"trials/{task}/attempt-{attempt}",
                note="" if slot >> place & 1 else "not ok 3 - the totals agree: expected 1204, found 1198",
            )
            for place, task in enumerate(sorted(self.request.task_ids))
            for attempt in range(1, self.request.attempts + 1)
        )
        return ScoreReport(doc_hash=document, request=self.request, cells=cells)


def gather(tasks: int | None = None, attempts: int = 1, *, judged: bool = False) -> Material:
    """Read the vendored seed and the names of the starter suite's first `tasks` (None: all).

    With `judged`, trials leave a judge's evidence and not a verifier's.
    """
    names = sorted(path.parent.name for path in SUITE.glob("*/task.toml"))[:tasks]
    return Material(seed_tree(ROOT / "vendor"), ScoreRequest(task_ids=tuple(names), attempts=attempts), judged)


def build_run(run_dir: Path, slots: int, material: Material) -> None:
    """Write a run with `slots` scored candidates after its seed; `wmo-state verify` finds nothing wrong with it."""
    layout = RunLayout(run_dir)
    layout.candidates.mkdir(parents=True)
    write_settings(run_dir, _settings(run_dir, material))
    write_tree(material.seed, layout.source_dir(0))
    trials = _write_trials(layout.candidate_dir(0), material)
    outcomes = [_write_candidate(layout, slot, material, trials) for slot in range(slots + 1)]
    write_part(layout.state, StateFile(outcomes=tuple(outcome.entry() for outcome in outcomes)))


def _settings(run_dir: Path, material: Material) -> RunSettings:
    return RunSettings(
        seed="pi",
        seed_tree_hash=tree_hash(material.seed),
        seed_doc_hash=doc_hash(parse_tree(material.seed)),
        suite=os.path.relpath(SUITE.resolve(), run_dir.resolve()),
        request=material.request,
        iterations=ITERATIONS,
        worker=Roles().worker.settings(),
        proposer_model=Roles().proposer.settings(),
    )


def _write_trials(candidate: Path, material: Material) -> tuple[str, ...]:
    """Write the seed's trials; gives the files' paths, relative to the candidate."""
    names = []
    left = {name: size for name, size in TRIAL_BYTES.items() if not (material.judged and name.startswith("verifier/"))}
    left |= JUDGE_BYTES if material.judged else {}
    for cell in material.report(0, "0" * 32).cells:
        for name, size in left.items():
            path = candidate / cell.artifact_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x" * size)
            names.append(str(path.relative_to(candidate)))
    return tuple(names)


def _write_candidate(layout: RunLayout, slot: int, material: Material, trials: tuple[str, ...]) -> SlotOutcome:
    """Write one candidate without syncing: the fixture need not outlive the machine."""
    tree, candidate_id = material.tree(slot), candidate_slot_id(slot)
    report = material.report(slot, doc_hash(parse_tree(tree)))
    evidence_dir = layout.evidence_dir(slot) if slot else ""
    if slot:
        seed, own = layout.candidate_dir(0), layout.candidate_dir(slot)
        _link(seed, own, [*trials, *(f"source/{file.path}" for file in tree.files if file.path != CHANGED)])
        (own / "source" / CHANGED).write_text(tree.as_mapping()[CHANGED])
        proposal = ProposalFile(
            candidate_id=candidate_id, doc_hash=report.doc_hash, tree_hash=tree_hash(tree), evidence_dir=evidence_dir
        )
        _write_json(layout.proposal(slot), proposal.model_dump(mode="json"))
        _write_turn(layout, slot, tree)
    _write_json(layout.report(slot), report.model_dump(mode="json"))
    candidate = EvaluatedCandidate(candidate_id, tree, report, evidence_dir)
    return SlotOutcome(slot, candidate_id, candidate, evidence_dir=evidence_dir)


def _write_turn(layout: RunLayout, slot: int, tree: SourceTree) -> None:
    directory, first = layout.proposal_dir(slot), layout.proposal_dir(1)
    _link(layout.source_dir(slot), directory / "source", [file.path for file in tree.files])
    if slot == 1:
        (first / "REQUEST.md").write_text("x" * REQUEST_BYTES)
        _write_json(first / "events.json", {"said": "x" * TRANSCRIPT_BYTES})
    else:
        _link(first, directory, ["REQUEST.md", "events.json"])
    status = {"status": "accepted", "summary": "SYSTEM.md: think before answering", "stop_reason": "submitted"}
    _write_json(directory / "status.json", {**status, "reasons": [], "tree_hash": tree_hash(tree)})
    for event in ("accepted", "scored"):
        append_event(layout.run_dir, event, slot, candidate_id=candidate_slot_id(slot), seconds=1.5)


def _link(source: Path, target: Path, names: list[str]) -> None:
    for folder in {(target / name).parent for name in names}:
        folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        os.link(source / name, target / name)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
