"""SIGKILL before, amid and after every step that changes the disk; then resume, and compare with an unbroken run.

The search goes once through optimize() and once as the tools do it: made by an init, opened anew for every step.
"""

from collections import Counter

import pytest
from durable_steps import DurableSteps, at, in_fork
from wmo_contracts.run import ModelSettings, RunSettings
from wmo_harness.source_tree import tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_population import CandidateProposalError, PopulationRunState, optimize
from wmo_population.durable import make_directory
from wmo_population.events import append_event, read_events
from wmo_population.lock import RunLock
from wmo_population.recorded import RecordedRun, open_run
from wmo_population.run_record import write_settings
from wmo_population.view import next_of

NO_EVIDENCE = (".lock", ".step.lock", ".work", "events.jsonl")


def embedded(run_dir, player, slots):
    assert optimize(player.seed, player, player, slots, run_dir=run_dir).completed


def by_tools(run_dir, player, slots):
    """What `make run` has wmo-state init, wmo-propose and wmo-score do to a run."""
    make_directory(run_dir)
    with RunLock(run_dir):
        if not (run_dir / "run.json").exists():
            state = PopulationRunState(run_dir)
            if state.consumed == 0:  # else it is a run of the reference, which is adopted
                state.stage_seed(player.seed)
            write_settings(run_dir, settings_of(player, slots))
        RecordedRun(run_dir, settings_of(player, slots))
    while next_of(run_dir).step != "done":
        with open_run(run_dir) as run:
            slot, event = run.next.slot, run.next.step
            if event == "propose":
                event = propose(run, player)
            else:
                run.commit_scored(run.finished_report() or player.score(run.due.candidate_id, run.due.tree))
            append_event(run_dir, event, slot)


def propose(run, player):
    try:
        if rejection := run.recorded_rejection():
            raise rejection
        run.record_pending(player.propose(run.next.slot, run.plan.seed, run.population).tree)
    except CandidateProposalError as error:
        run.commit_invalid(error.reason, error.evidence_dir)
        return "rejected"
    return "accepted"


def settings_of(player, slots):
    model = ModelSettings(base_url="offline", model="m", api_key_env="WMO_API_KEY")
    return RunSettings(
        seed="pi",
        seed_tree_hash=tree_hash(player.seed),
        seed_doc_hash=doc_hash(parse_tree(player.seed)),
        suite="suite",
        request=player.request,
        iterations=slots,
        reward_mode="positive-binary",
        worker=model,
        proposer_model=model,
    )


def paid_for(run_dir):
    """Give the calls whose result is on disk, so that they must not be made again."""
    candidates = run_dir / "candidates"
    reports = {f"score {path.parent.name}" for path in candidates.glob("*/report.json")}
    done = [*candidates.glob("*/pending.json"), *candidates.glob("*/error.json")]
    return reports | {f"propose {int(path.parent.name[-4:])}" for path in done}


@pytest.fixture
def place(tmp_path, vector):
    """Give a function: a new folder for a run that starts as a vector, or empty."""

    def make(name, start):
        run_dir = tmp_path / name / "run"
        run_dir.parent.mkdir()
        if start:
            vector(start).rename(run_dir)
        return run_dir

    return make


@pytest.fixture(
    params=[(embedded, "", 2), (by_tools, "", 2), (embedded, "run-pending", 4), (by_tools, "run-pending", 4)]
)
def search(request, place, replay):
    """A search from the start, over a scored and an invalid slot, and one that finishes what the reference left.

    Gives (a function that begins or resumes it, a function that makes its folder).
    """
    way, start, slots = request.param
    return lambda run_dir, log=None: way(run_dir, replay(log), slots), lambda name: place(name, start)


def test_every_step_is_counted_and_nothing_gets_its_name_unsynced(search):
    go, make = search
    run_dir = make("calm")
    steps = DurableSteps(run_dir)
    assert not in_fork(steps, lambda: go(run_dir))
    assert steps.unseen == []
    assert {"open", "write", "fsync", "replace", "unlink"} <= {function for function, _ in steps.seen}
    evidence = [(function, path) for function, path in steps.seen if not path.startswith(NO_EVIDENCE)]
    unsynced = set()
    for (function, path), after in zip(evidence, [*evidence[1:], None], strict=True):
        if function == "write":
            unsynced.add(path)
        elif function == "fsync":
            unsynced.discard(path)
        elif function == "replace":
            assert not unsynced, f"'{path}' gets its name before its content is safe"
            assert after == ("fsync", path.rpartition("/")[0] or "."), f"'{path}': what follows is safe before its name"


@pytest.mark.parametrize("how", ["before", "amid", "after"])
def test_a_kill_at_any_step_loses_nothing(search, how, run_files):
    go, make = search
    calm = make("calm")
    steps = DurableSteps(calm)
    in_fork(steps, lambda: go(calm))
    wanted = without_timeline(run_files(calm))
    for number, (function, path) in enumerate(steps.seen, 1):
        if (how == "amid" and function != "write") or (how == "after" and path.startswith(NO_EVIDENCE)):
            continue  # after a step of a lock is before the next one
        run_dir = make(str(number))
        log = run_dir.with_name("calls")
        assert in_fork(DurableSteps(run_dir, at(number, how)), lambda: go(run_dir, log))  # noqa: B023  called at once
        paid = paid_for(run_dir)
        go(run_dir, log)
        moment = f"killed {how} step {number}, {function} '{path}'"
        assert without_timeline(run_files(run_dir)) == wanted, moment
        calls = Counter(log.read_text().splitlines()) if log.exists() else Counter()
        twice = {call for call, times in calls.items() if times > 1}
        assert len(twice) <= 1, f"{moment}: {twice}"
        assert not twice & paid, moment
        assert all("event" in event for event in read_events(run_dir)), moment


def without_timeline(files):
    """Give a run's files but events.jsonl, which tells of every try."""
    return {name: data for name, data in files.items() if name != "events.jsonl"}
