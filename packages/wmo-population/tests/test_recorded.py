"""What the tools open: a run with a record, its lock, its working folder, its views and its timeline."""

import json
import os

import pytest
from wmo_contracts.run import ModelSettings, RunSettings
from wmo_harness.source_tree import tree_hash
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_kit.atomic import write_json_atomic
from wmo_kit.errors import BadDocument, Conflict, Locked, Missing, Negative
from wmo_population import PopulationRunState, optimize
from wmo_population.events import append_event, read_events
from wmo_population.recorded import open_run
from wmo_population.run_record import read_settings, write_settings
from wmo_population.verify import verify_run
from wmo_population.view import best_of, next_of, view_run


def settings_of(player, iterations=4, base_url="offline"):
    model = ModelSettings(base_url=base_url, model="m", api_key_env="WMO_API_KEY")
    return RunSettings(
        seed="pi",
        seed_tree_hash=tree_hash(player.seed),
        seed_doc_hash=doc_hash(parse_tree(player.seed)),
        suite="/suite",
        request=player.request,
        iterations=iterations,
        reward_mode="positive-binary",
        worker=model,
        proposer_model=model,
    )


@pytest.fixture
def fresh(tmp_path, replay):
    """A run right after `wmo-state init`."""
    PopulationRunState(tmp_path).stage_seed(replay.seed)
    write_settings(tmp_path, settings_of(replay()))
    return tmp_path


def test_the_record_holds_the_settings_and_nothing_else(fresh, replay):
    document = json.loads((fresh / "run.json").read_text())
    assert list(document) == ["schema", "settings", "settings_hash"]
    assert document["schema"] == "wmo.run/1"
    assert read_settings(fresh) == settings_of(replay())


def test_the_tools_steps_give_the_reference_run(fresh, replay, complete, run_files):
    """One opening a step, as separate processes have it."""
    player = replay()
    while (step := next_of(fresh)).step != "done":
        with open_run(fresh) as run:
            assert run.next == step
            assert run.settings.suite == "/suite"
            if step.step == "propose":
                try:
                    proposal = player.propose(step.slot, run.plan.seed, run.population)
                except Negative as error:
                    run.commit_invalid(error.reason, run.layout.evidence_dir(step.slot))
                else:
                    run.record_pending(proposal.tree)
            else:
                assert run.finished_report() is None
                run.commit_scored(player.score(run.due.candidate_id, run.due.tree))
    (fresh / "run.json").unlink()
    assert run_files(fresh) == run_files(complete)


def test_a_step_out_of_order_is_refused(fresh, replay):
    player = replay()
    with open_run(fresh) as run:
        for step in (run.recorded_rejection, lambda: run.record_pending(player.seed), lambda: run.commit_invalid("x")):
            with pytest.raises(Conflict, match="next step is 'score-seed'"):
                step()
        run.commit_scored(player.score("candidate-0000", player.seed))
        with pytest.raises(Conflict, match="next step is 'propose'"):
            run.due  # noqa: B018  the property raises


def test_an_open_run_is_locked_and_its_working_folder_is_empty_and_goes(fresh):
    (fresh / ".work").mkdir()
    (fresh / ".work/of-a-killed-step").write_text("")
    with open_run(fresh) as run:
        assert list(run.work_dir.iterdir()) == []
        (run.work_dir / "file").write_text("")
        with pytest.raises(Locked), open_run(fresh):
            pass
    assert not (fresh / ".work").exists()
    with pytest.raises(RuntimeError), open_run(fresh):
        raise RuntimeError
    assert {path.name for path in fresh.iterdir()} == {"candidates", "run.json"}


def test_a_rejection_that_was_written_but_not_indexed_is_found_again(vector, replay):
    run_dir = vector("run-partial")
    write_settings(run_dir, settings_of(replay()))
    state = json.loads((run_dir / "state.json").read_text())
    write_json_atomic(run_dir / "state.json", {"outcomes": state["outcomes"][:2]})
    with open_run(run_dir) as run:
        rejection = run.recorded_rejection()
        assert rejection.reason.endswith("café")
        run.commit_invalid(rejection.reason, rejection.evidence_dir)
    assert json.loads((run_dir / "state.json").read_text()) == state


def test_a_reason_with_a_lone_surrogate_is_recorded(fresh, replay):
    player = replay()
    with open_run(fresh) as run:
        run.commit_scored(player.score("candidate-0000", player.seed))
        assert run.commit_invalid("bad \ud800 text").reason == "bad \ufffd text"
    assert verify_run(fresh).ok


def test_a_seed_that_is_not_the_recorded_one_is_refused(fresh):
    (fresh / "candidates/candidate-0000/source/SYSTEM.md").write_text("Another.")
    with pytest.raises(BadDocument, match=r"slot 0: .*not the seed"), open_run(fresh):
        pass
    assert [problem.slot for problem in verify_run(fresh).problems] == [None]


def test_runs_without_a_record_can_be_read_but_not_opened(vector, tmp_path):
    run_dir = vector("run-pending")
    assert (next_of(run_dir).step, next_of(run_dir).slot) == ("score", 4)
    with pytest.raises(Missing, match="adopt it with 'wmo-state init"), open_run(run_dir):
        pass
    with pytest.raises(Missing, match="no run in"):
        view_run(tmp_path / "nowhere")
    with pytest.raises(Missing, match=r"no run\.json"):
        next_of(vector("run-partial"))


def test_the_view_of_a_run_of_the_reference(vector):
    run_dir = vector("run-complete")
    (run_dir / "proposals/slot-0001").mkdir(parents=True)
    (run_dir / "proposals/slot-0001/status.json").write_text('{"summary": "says Ü"}')
    (run_dir / "proposals/slot-0003").mkdir()
    (run_dir / "proposals/slot-0003/status.json").write_text('{"of": "another system"}')
    view = view_run(run_dir)
    assert (view.settings, view.next, view.completed, view.simulated) == (None, None, False, False)
    assert view.best.model_dump() == {"candidate_id": "candidate-0000", "slot": 0, "score": 0.75}
    assert [outcome.change for outcome in view.outcomes] == [0.0, -0.25, None, 0.0, 0.0]
    assert [outcome.summary for outcome in view.outcomes] == ["", "says Ü", "", "", ""]
    assert view.outcomes[0].changed_files == ()
    assert view.outcomes[1].changed_files == ("SYSTEM.md", "src/a.ts")
    assert view.outcomes[2].note.endswith("café")
    assert best_of(run_dir).candidate_id == "candidate-0000"
    check = verify_run(run_dir)
    assert (check.ok, check.slots, check.problems) == (True, 5, ())


@pytest.mark.parametrize(("base_url", "simulated"), [("offline", True), ("http://localhost:1/v1", False)])
def test_the_view_of_a_run_with_a_record(vector, replay, base_url, simulated):
    run_dir = vector("run-pending")
    write_settings(run_dir, settings_of(replay(), base_url=base_url))
    view = view_run(run_dir)
    assert (view.next.step, view.next.slot, view.completed, view.simulated) == ("score", 4, False, simulated)
    write_settings(run_dir, settings_of(replay(), iterations=3))
    assert view_run(run_dir).completed


def test_nothing_scored_has_no_best(fresh):
    with pytest.raises(Negative, match="nothing is scored yet"):
        best_of(fresh)


def test_every_problem_is_listed(vector, replay):
    run_dir = vector("run-complete")
    write_settings(run_dir, settings_of(replay(), iterations=3))
    (run_dir / "candidates/candidate-0001/source/SYSTEM.md").write_text("Edited.")
    (run_dir / "candidates/candidate-0003/report.json").unlink()
    check = verify_run(run_dir)
    assert not check.ok
    assert [problem.slot for problem in check.problems] == [1, 3, None]
    assert "only 3 are asked for" in check.problems[2].problem


def test_a_torn_line_spoils_no_other(tmp_path):
    assert read_events(tmp_path) == []
    append_event(tmp_path, "scored", 0, seconds=1.5)
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"event": "propo')
    append_event(tmp_path, "rejected", 1, reason="café")
    assert [(event["event"], event["slot"]) for event in read_events(tmp_path)] == [("scored", 0), ("rejected", 1)]
    assert read_events(tmp_path)[0]["seconds"] == 1.5


def test_a_run_can_be_read_while_it_is_worked_on(tmp_path, replay):
    """Readers take no lock, so they must never take a boundary in progress for damage."""
    child = os.fork()
    if child == 0:
        try:
            for turn in range(20):
                player = replay()
                optimize(player.seed, player, player, 4, run_dir=tmp_path / "runs" / str(turn))
            os._exit(0)
        finally:
            os._exit(1)  # the child must never return into pytest
    reads = 0
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        for run_dir in (tmp_path / "runs").glob("*/state.json"):
            assert view_run(run_dir.parent).best is not None
            assert verify_run(run_dir.parent).problems == ()
            reads += 1
    assert ended == (child, 0)
    assert reads > 20
