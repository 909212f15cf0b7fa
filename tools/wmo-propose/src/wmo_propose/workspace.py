"""The folder a proposer works in: the request, the run's evidence read-only, and candidate/, a fresh copy of the seed.

    REQUEST.md
    history/manifest.json
    history/<candidate>/    source/, report.json, trials/<task>/attempt-<n>/; notes where something is missing or cut
    proposals/slot-NNNN/    the turns of earlier slots, failed ones too
    candidate/              the one place to write

Evidence is not copied: it is bound read-only over empty mount points, or linked where there is no sandbox. Mounts are
few, one a candidate and one for all turns: bubblewrap takes 9,000 arguments at most, three a mount, and the time that
it needs grows with their square.

A judge's evidence holds the assertions, which no proposer may know. Where there is a judge, trials are hard-linked into
history/, without their judge/.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.base import Part
from wmo_contracts.run import InvalidEntry, ScoredEntry
from wmo_harness.source_tree import SourceTree
from wmo_harness.tree_io import write_tree
from wmo_kit.atomic import write_json_atomic, write_text_atomic
from wmo_population.evidence import read_report
from wmo_population.layout import PROPOSALS, RunLayout
from wmo_population.trials import JUDGE
from wmo_population.verdict import read_own_verdict

from wmo_propose.evidence_copy import CUT_NOTE, copy_within_budget, fits_budget, link_files

REQUEST = "REQUEST.md"
HISTORY = "history"
CANDIDATE = "candidate"
NO_EVIDENCE = "NO-EVIDENCE.md"


class ManifestEntry(Part):
    """What history/manifest.json says of one consumed slot. `kind` is "scored" or "invalid"."""

    candidate_id: str
    slot: int
    kind: str
    score: float | None
    pass_rate: float | None
    summary: str
    reason: str


@dataclass(frozen=True)
class Mount:
    """Evidence of the run to be seen, read-only, at `inside` (relative to the workspace)."""

    host: Path
    inside: str


@dataclass(frozen=True)
class Workspace:
    """A workspace on disk and what must be mounted into it."""

    root: Path
    mounts: tuple[Mount, ...]

    @property
    def candidate(self) -> Path:
        """The folder the agent edits."""
        return self.root / CANDIDATE

    def read_only(self) -> tuple[Mount, ...]:
        """Give every read-only mount, outer ones first: the request and the history folder, then the evidence."""
        own = tuple(Mount(self.root / name, name) for name in (REQUEST, HISTORY))
        return own + self.mounts

    def unlock(self) -> None:
        """Make what the agent left readable and removable: it may have locked its own folders, and us out of them."""
        folders = [self.root]
        while folders:  # no os.walk: an agent may make folders deeper than Python's stack
            folder = folders.pop()
            with contextlib.suppress(OSError):  # a path that is too long to be named: the snapshot says so
                folder.chmod(0o700)
                with os.scandir(folder) as entries:
                    folders += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


def manifest(layout: RunLayout, entries: Sequence[ScoredEntry | InvalidEntry]) -> list[ManifestEntry]:
    """Describe every consumed slot, sorted by slot. Raises BadDocument where a report or verdict does not hold."""
    return [_describe(layout, entry) for entry in sorted(entries, key=lambda entry: entry.slot)]


def build_workspace(
    root: Path,
    layout: RunLayout,
    history: Iterable[ManifestEntry],
    seed: SourceTree,
    request: str,
    *,
    link: bool,
    judged: bool = False,
) -> Workspace:
    """Make the workspace in the new folder `root`. With `link`, evidence is linked; else mount points are left for it.

    `judged`: the run's verdicts are a judge's, whose evidence is left out. Raises OSError (FileExistsError where `root`
    is in use).
    """
    root.mkdir(parents=True)
    write_text_atomic(root / REQUEST, request)
    entries = list(history)
    mounts = [mount for entry in entries for mount in _place_history(root, layout, entry, judged=judged)]
    mounts += _place_turns(root, layout, len(entries), link=link)
    (root / HISTORY).mkdir(exist_ok=True)
    write_json_atomic(
        root / HISTORY / "manifest.json", {"candidates": [entry.model_dump(mode="json") for entry in entries]}
    )
    write_tree(seed, root / CANDIDATE)
    for mount in mounts:
        _prepare(mount, root / mount.inside, link=link)
    return Workspace(root, tuple(mounts))


def _describe(layout: RunLayout, entry: ScoredEntry | InvalidEntry) -> ManifestEntry:
    report = read_report(layout, entry) if isinstance(entry, ScoredEntry) else None
    status = read_own_verdict(layout, entry.slot)
    return ManifestEntry(
        candidate_id=entry.candidate_id,
        slot=entry.slot,
        kind=entry.kind,
        score=entry.score if isinstance(entry, ScoredEntry) else None,
        pass_rate=None if report is None else report.pass_rate,
        summary=status.summary if status else "",
        reason=entry.reason if isinstance(entry, InvalidEntry) else "",
    )


def _place_history(root: Path, layout: RunLayout, entry: ManifestEntry, *, judged: bool) -> list[Mount]:
    """Place a slot's evidence: the whole folder where all of it may be shown and fits the budgets, else by piece."""
    inside = f"{HISTORY}/{entry.candidate_id}"
    host = layout.candidate_dir(entry.slot)
    if not judged and entry.kind == "scored" and (host / "trials").is_dir() and fits_budget(host):
        return [Mount(host, inside)]
    (root / inside).mkdir(parents=True)
    mounts = [
        Mount(host / name, f"{inside}/{name}")
        for name in ("source", "report.json", "error.json")
        if (host / name).exists()
    ]
    if entry.kind == "invalid":
        turn = layout.evidence_dir(entry.slot)
        note = f"This proposal was rejected before it was scored: {entry.reason}\n\nThe turn itself is in {turn}/."
        write_text_atomic(root / inside / NO_EVIDENCE, f"{note}\n")
    elif not (host / "trials").is_dir():
        note = "This candidate was scored, but its trials were not kept. The score and report.json are all there is."
        write_text_atomic(root / inside / NO_EVIDENCE, f"{note}\n")
    elif judged:
        _place_judged(host / "trials", root, f"{inside}/trials", note=f"{inside}/{CUT_NOTE}")
    else:
        mounts += _place_folder(host / "trials", root, f"{inside}/trials", note=f"{inside}/{CUT_NOTE}")
    return mounts


def _place_judged(trials: Path, root: Path, inside: str, *, note: str) -> None:
    hidden = tuple(trials.glob(f"*/*/{JUDGE}"))
    if fits_budget(trials, hidden=hidden):
        link_files(trials, root / inside, hidden)
    else:
        write_text_atomic(root / note, copy_within_budget(trials, root / inside, hidden=hidden))


def _place_turns(root: Path, layout: RunLayout, slot: int, *, link: bool) -> list[Mount]:
    """Place the turns before `slot`. Bound, they are one mount, over which lie what was cut, and nothing for `slot`.

    A try at `slot` that was cut short leaves evidence, which the next try must not see: its turn would be another one.
    """
    (root / PROPOSALS).mkdir()
    shown: list[Mount] = []
    for turn in range(slot):
        inside, host = layout.evidence_dir(turn), layout.proposal_dir(turn)
        if host.is_dir():
            shown += _place_folder(host, root, inside, note=f"{inside}/{CUT_NOTE}")
    if link:
        return shown
    (root / layout.evidence_dir(slot)).mkdir()
    own = sorted(path.name for path in (root / PROPOSALS).iterdir())
    return [
        Mount(layout.run_dir / PROPOSALS, PROPOSALS),
        *(Mount(root / PROPOSALS / name, f"{PROPOSALS}/{name}") for name in own),
    ]


def _place_folder(host: Path, root: Path, inside: str, *, note: str) -> list[Mount]:
    """Give the mount of a folder within the budgets; copy what the budgets allow of a larger one, with a note."""
    if fits_budget(host):
        return [Mount(host, inside)]
    told = copy_within_budget(host, root / inside)
    write_text_atomic(root / note, told)
    return []


def _prepare(mount: Mount, place: Path, *, link: bool) -> None:
    if link:
        place.symlink_to(mount.host.absolute())
    elif mount.host.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
