"""The names of everything in a run directory (design 3)."""

from dataclasses import dataclass, replace
from pathlib import Path

from wmo_population.slots import candidate_slot_id, proposal_slot_id

CANDIDATES = "candidates"
PROPOSALS = "proposals"
HOLDOUT = "holdout"


@dataclass(frozen=True)
class RunLayout:
    """The paths of one run. Nothing here touches the disk. `folder` is where the candidates are."""

    run_dir: Path
    folder: str = CANDIDATES

    @property
    def state(self) -> Path:
        """The ordered index of consumed slots, committed last."""
        return self.run_dir / "state.json"

    @property
    def record(self) -> Path:
        """The run's frozen settings; a run of the reference has none."""
        return self.run_dir / "run.json"

    @property
    def events(self) -> Path:
        """The timeline for people; never read back as state."""
        return self.run_dir / "events.jsonl"

    @property
    def lock(self) -> Path:
        """The file that who works on the run, a loop or a single tool, holds locked."""
        return self.run_dir / ".lock"

    @property
    def step_lock(self) -> Path:
        """The file that the tool at work holds locked."""
        return self.run_dir / ".step.lock"

    @property
    def work(self) -> Path:
        """Working files of the step in hand; no evidence."""
        return self.run_dir / ".work"

    @property
    def candidates(self) -> Path:
        """The folder of all candidates."""
        return self.run_dir / self.folder

    @property
    def held_out(self) -> "RunLayout":
        """The same names for what candidates did on held-out tasks: holdout/candidate-<n>/{report.json, trials/}."""
        return replace(self, folder=HOLDOUT)

    def candidate_dir(self, slot: int) -> Path:
        """Give the folder of a slot's candidate."""
        return self.candidates / candidate_slot_id(slot)

    def source_dir(self, slot: int) -> Path:
        """Give the folder of the candidate's tree."""
        return self.candidate_dir(slot) / "source"

    def report(self, slot: int) -> Path:
        """Give the file of the candidate's ScoreReport."""
        return self.candidate_dir(slot) / "report.json"

    def proposal(self, slot: int) -> Path:
        """Give the file that says what was accepted."""
        return self.candidate_dir(slot) / "proposal.json"

    def pending(self, slot: int) -> Path:
        """Give the file that is there while an accepted candidate is not scored."""
        return self.candidate_dir(slot) / "pending.json"

    def error(self, slot: int) -> Path:
        """Give the file that says why the slot has no candidate."""
        return self.candidate_dir(slot) / "error.json"

    def trial_dir(self, slot: int, task_id: str, attempt: int) -> Path:
        """Give the folder of one of the candidate's trials."""
        return self.candidate_dir(slot) / "trials" / task_id / f"attempt-{attempt}"

    def proposal_dir(self, slot: int) -> Path:
        """Give the folder with the raw evidence of the slot's proposer turn."""
        return self.run_dir / self.evidence_dir(slot)

    def evidence_dir(self, slot: int) -> str:
        """Give the same folder as documents name it: relative to the run."""
        return f"{PROPOSALS}/{proposal_slot_id(slot)}"
