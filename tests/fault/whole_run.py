"""A run directory with everything a run of ours holds, built in milliseconds, and every command that reads one.

It is the reference's run-pending with our own files around it: run.json, trials, turns, a timeline. No agent plays in
it: every trial of the candidate that waits is finished, and so is every turn.
"""

import contextlib
import inspect
import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin

from wmo_contracts.base import dump_text
from wmo_contracts.episode import EpisodeDocument, EpisodeResult, HarnessRef, ModelRef, TaskRef, Usage
from wmo_contracts.exchanges import ExchangesDocument
from wmo_contracts.run import ModelSettings, ProposerSettings, RunSettings, TurnStatus
from wmo_contracts.score import CellDocument, ScoreCell, ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree, tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_harness.tree_io import read_tree
from wmo_kit.errors import WmoError
from wmo_kit.log import Log
from wmo_population import CandidateProposal, CandidateProposalError, candidate_slot_id, optimize
from wmo_population.events import append_event
from wmo_population.layout import RunLayout
from wmo_population.run_record import write_settings
from wmo_propose.work import run as run_propose
from wmo_score.due import score_run
from wmo_score.matrix import Conditions
from wmo_score.options import Options
from wmo_state.asked import ask
from wmo_state.init import run_init
from wmo_state.show import run_best, run_next, run_status, run_verify
from wmo_suites.task import load_suite, task_digest

VECTORS = Path(__file__).parents[2] / "packages/wmo-population/tests/vectors"
COMPLETE = VECTORS / "run-complete"
REQUEST = ScoreRequest(task_ids=("b-task", "a-task"), attempts=2)
MODEL = ModelSettings(base_url="http://localhost:1/v1", model="m", api_key_env="PATH")
SLOTS = 4


class Replay:
    """Plays the reference's complete run back to optimize()."""

    request = REQUEST
    seed = read_tree(COMPLETE / "candidates/candidate-0000/source")

    def score(self, candidate_id: str, _tree: SourceTree) -> ScoreReport:
        return ScoreReport.model_validate_json((COMPLETE / "candidates" / candidate_id / "report.json").read_bytes())

    def propose(self, slot: int, _seed: SourceTree, _population: Any) -> CandidateProposal:
        folder = COMPLETE / "candidates" / candidate_slot_id(slot)
        if (folder / "error.json").exists():
            error = json.loads((folder / "error.json").read_text())
            raise CandidateProposalError(error["reason"], error["evidence_dir"])
        return CandidateProposal(candidate_slot_id(slot), read_tree(folder / "source"))


def build(place: Path, *, pending: bool) -> Path:
    """Make the run in `place`: slot 4 waits for its scores (`pending`), or for its finished turn to be committed."""
    run = Path(shutil.copytree(VECTORS / "run-pending", place / "run"))
    suite = make_suite(place / "suite")
    layout = RunLayout(run)
    settings = settings_of(Replay.seed)
    write_settings(run, settings)
    digests = {task.id: task_digest(task, judged=False) for task in load_suite(suite)}
    for slot in (0, 1, 3, 4):
        tree = read_tree(layout.source_dir(slot))
        report = ScoreReport.model_validate_json(
            (COMPLETE / "candidates" / candidate_slot_id(slot) / "report.json").read_bytes()
        )
        for cell in report.cells:
            write_trial(layout, slot, tree, cell, digests[cell.task_id], settings)
        if slot:
            write_turn(layout, slot, f"says {slot}", tree)
        append_event(run, "scored", slot)
    reason = json.loads(layout.error(2).read_text())["reason"]
    write_turn(layout, 2, "", None, tuple(reason.split("; ")))
    shutil.copyfile(layout.error(2), layout.proposal_dir(2) / "error.json")
    accepted = json.loads(layout.proposal(4).read_text())
    layout.proposal(4).write_text(dump_text({**accepted, "evidence_dir": layout.evidence_dir(4)}))
    if not pending:
        shutil.rmtree(layout.candidate_dir(4))
    return run


def make_suite(folder: Path) -> Path:
    for name in REQUEST.task_ids:
        task = folder / name
        (task / "environment/workspace").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "task.toml").write_text('version = "1.0"\n')
        (task / "instruction.md").write_text("Do it.\n")
        (task / "tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    return folder


def settings_of(seed: SourceTree) -> RunSettings:
    return RunSettings(
        seed="pi",
        seed_tree_hash=tree_hash(seed),
        seed_doc_hash=doc_hash(parse_tree(seed)),
        suite="../suite",
        request=REQUEST,
        iterations=SLOTS,
        reward_mode="positive-binary",
        sandbox="none",
        consent=True,
        proposer=ProposerSettings(kind="command", argv=("true",)),
        worker=MODEL,
        proposer_model=MODEL,
    )


def write_trial(
    layout: RunLayout, slot: int, tree: SourceTree, cell: ScoreCell, digest: str, settings: RunSettings
) -> None:
    folder = layout.trial_dir(slot, cell.task_id, cell.attempt)
    (folder / "verifier").mkdir(parents=True)
    document = doc_hash(parse_tree(tree))
    conditions = Conditions(settings.request, settings.reward_mode, settings.sandbox, "harness", settings.worker)
    cell_document = CellDocument(
        cell=cell,
        tree_hash=tree_hash(tree),
        doc_hash=document,
        task_hash=digest,
        request_hash=conditions.request_hash,
        stop_reason="submitted",
        timings={"total": 1.5},
    )
    episode = EpisodeDocument(
        task=TaskRef(id=cell.task_id, instruction="Do it."),
        harness=HarnessRef(path="../../../source", tree_hash=tree_hash(tree), doc_hash=document),
        system="Work.",
        tools=(),
        model=ModelRef(name="m"),
    )
    result = EpisodeResult(
        task_id=cell.task_id, steps=(), stop_reason="submitted", answer="done", turns=0, usage=Usage(calls=1)
    )
    (folder / "episode.json").write_text(episode.to_text())
    (folder / "wmo-run.json").write_text(result.to_text())
    (folder / "exchanges.json").write_text(ExchangesDocument(exchanges=(), total=0).to_text())
    (folder / "verifier/reward.txt").write_text(f"{cell.reward}\n")
    (folder / "cell.json").write_text(cell_document.sealed().to_text())


def write_turn(
    layout: RunLayout, slot: int, summary: str, tree: SourceTree | None, reasons: tuple[str, ...] = ()
) -> None:
    """Keep a turn that handed in `tree`, or was rejected for `reasons`."""
    status = TurnStatus(
        status="rejected" if reasons else "accepted",
        summary=summary,
        stop_reason="submitted",
        reasons=reasons,
        tree_hash=tree_hash(tree) if tree else "",
    )
    folder = layout.proposal_dir(slot)
    folder.mkdir(parents=True)
    (folder / "REQUEST.md").write_text("Improve it.\n")
    (folder / "exchanges.json").write_text(ExchangesDocument(exchanges=(), total=0).to_text())
    (folder / "events.json").write_text('{\n  "proposer": "command"\n}\n')
    for file in tree.files if tree else ():
        (folder / "source" / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / file.path).write_bytes(file.content.encode())
    (folder / "status.json").write_text(dump_text(status.model_dump(mode="json")))


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, the words of its failure, its document."""

    code: int
    words: str
    document: Any


READERS = ("next", "status", "verify", "best")
"""Commands that change nothing."""
WORKERS = ("init", "score", "propose", "optimize")


def command(name: str, run: Path) -> Ended:
    """Run a command in this process, as its frame would end it."""
    out = io.StringIO()
    code, words = 0, ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            COMMANDS[name](run)
        except WmoError as error:
            code, words = error.code, str(error)
        except OSError as error:
            code, words = 74, str(error)
    text = out.getvalue()
    return Ended(code, words, json.loads(text) if text else None)


def _init(run: Path) -> None:
    kinds = {name: parameter.annotation for name, parameter in inspect.signature(ask).parameters.items()}
    unsaid = {name: _unsaid(kind) for name, kind in kinds.items() if name != "run"}
    asked = ask(run, **unsaid)
    run_init(run, asked, Log("wmo-state"))


def _unsaid(kind: Any) -> Any:
    """Give what an option of a kind is where the command line does not say it."""
    if get_origin(kind) is tuple:
        return ()
    return False if kind is bool else None


def _optimize(run: Path) -> None:
    player = Replay()
    optimize(player.seed, player, player, SLOTS, run_dir=run)


COMMANDS: dict[str, Callable[[Path], Any]] = {
    "next": run_next,
    "status": run_status,
    "verify": run_verify,
    "best": run_best,
    "init": _init,
    "score": lambda run: score_run(Log("wmo-score"), run, Options()),
    "propose": lambda run: run_propose(Log("wmo-propose"), run, vendor=None, proposer=None, argv=()),
    "optimize": _optimize,
}


def files_below(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()
