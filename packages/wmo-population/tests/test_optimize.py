"""The loop's rules: what ends it, what consumes a slot, what is an error (design 3, semantics 1 to 9)."""

import pytest
from wmo_contracts.base import dump_text
from wmo_contracts.score import ScoreReport, ScoreRequest
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import BadDocument, Conflict, Transient
from wmo_population import CandidateProposal, optimize


def search(run_dir, player, iterations=4, **more):
    return optimize(player.seed, player, player, iterations, run_dir=run_dir, **more)


def test_no_iterations_score_only_the_seed(tmp_path, replay):
    player = replay()
    result = search(tmp_path, player, 0)
    assert result.completed
    assert (result.best.candidate_id, result.best_score) == ("candidate-0000", 0.75)
    assert player.calls == ["score candidate-0000"]
    assert search(tmp_path, player, 0).completed
    assert player.calls == ["score candidate-0000"]


def test_boundaries_can_be_bounded_and_the_plan_resumes(tmp_path, replay, complete, run_files):
    player, heard = replay(), []
    for boundaries in range(1, 6):
        result = search(tmp_path, player, max_new_boundaries=1, on_boundary=lambda outcome: heard.append(outcome.slot))
        assert len(result.outcomes) == boundaries
        assert result.completed == (boundaries == 5)
    assert heard == [0, 1, 2, 3, 4]
    assert run_files(tmp_path) == run_files(complete)


def test_no_new_boundary_at_all(tmp_path, replay):
    result = search(tmp_path, replay(), max_new_boundaries=0)
    assert (result.outcomes, result.best, result.best_score, result.completed) == ((), None, None, False)


def test_cancellation_is_polled_before_each_costly_phase(tmp_path, replay):
    player = replay()
    result = search(tmp_path, player, should_cancel=lambda: "propose 1" in player.calls)
    assert player.calls == ["score candidate-0000", "propose 1"]
    assert (len(result.outcomes), result.completed) == (1, False)
    assert (tmp_path / "candidates/candidate-0001/pending.json").exists()
    assert search(tmp_path, player).completed
    assert player.calls.count("propose 1") == 1


def test_more_slots_than_before_go_on_and_fewer_are_an_error(tmp_path, replay, complete, run_files):
    player = replay()
    assert search(tmp_path, player, 2).completed
    with pytest.raises(Conflict, match="has 2 slots after the seed, but only 1"):
        search(tmp_path, player, 1)
    assert search(tmp_path, player, 4).completed
    assert run_files(tmp_path) == run_files(complete)


@pytest.mark.parametrize("iterations", [-1, True, 1.0])
def test_iterations_are_an_integer(tmp_path, replay, iterations):
    with pytest.raises(ValueError, match="iterations"):
        search(tmp_path, replay(), iterations)


def test_a_failing_scorer_ends_the_search_and_the_same_candidate_is_scored_next(tmp_path, replay, complete, run_files):
    player = replay()
    works = player.score

    def fail(candidate_id, tree):
        if candidate_id == "candidate-0001":
            raise Transient("the endpoint is down")
        return works(candidate_id, tree)

    player.score = fail
    with pytest.raises(Transient, match="endpoint"):
        search(tmp_path, player)
    player.score = works
    assert search(tmp_path, player).completed
    assert player.calls.count("propose 1") == 1
    assert run_files(tmp_path) == run_files(complete)


def test_a_failing_proposer_consumes_nothing(tmp_path, replay):
    player = replay()
    player.propose = None
    with pytest.raises(TypeError):
        search(tmp_path, player)
    assert len(search(tmp_path, replay(), max_new_boundaries=0).outcomes) == 1


def test_a_proposal_that_is_no_harness_consumes_its_slot(tmp_path, replay):
    player = replay()
    player.propose = lambda slot, _seed, _population: CandidateProposal(
        f"candidate-{slot:04d}", SourceTree.from_mapping({"a.txt": ""}), f"proposals/slot-{slot:04d}"
    )
    result = search(tmp_path, player, 2)
    assert [outcome.kind for outcome in result.outcomes] == ["scored", "invalid", "invalid"]
    assert "SYSTEM.md" in result.outcomes[1].reason
    assert result.outcomes[2].evidence_dir == "proposals/slot-0002"
    assert search(tmp_path, player, 2) == result


def test_a_proposal_under_a_wrong_name_is_refused(tmp_path, replay):
    player = replay()
    player.propose = lambda *_: CandidateProposal("candidate-0009", player.seed)
    with pytest.raises(ValueError, match="candidate-0009"):
        search(tmp_path, player)


def test_another_seed_is_refused_and_says_which(tmp_path, replay):
    player = replay()
    search(tmp_path, player, 0)
    player.seed = SourceTree.from_mapping({"SYSTEM.md": "Another."})
    with pytest.raises(Conflict, match="started from seed tree"):
        search(tmp_path, player)


def test_another_request_is_refused_and_says_which(tmp_path, replay):
    player = replay()
    search(tmp_path, player, 0)
    player.request = ScoreRequest(task_ids=("b-task", "a-task"), attempts=3)
    with pytest.raises(Conflict, match="2 attempts at tasks b-task, a-task, this request is 3 attempts"):
        search(tmp_path, player)


def altered(report, **changes):
    return ScoreReport.model_validate_json(report.model_copy(update=changes).model_dump_json())


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"doc_hash": "0" * 32}, BadDocument, "about document"),
        ({"request": ScoreRequest(task_ids=("a-task", "b-task"), attempts=2)}, BadDocument, "answers"),
    ],
)
def test_a_report_about_something_else_is_refused_unwritten(tmp_path, replay, changes, error, words):
    player = replay()
    works = player.score
    player.score = lambda candidate_id, tree: altered(works(candidate_id, tree), **changes)
    with pytest.raises(error, match=words):
        search(tmp_path, player)
    assert not (tmp_path / "candidates/candidate-0000/report.json").exists()
    assert not (tmp_path / "state.json").exists()


def test_a_stand_in_reward_never_enters_a_run(tmp_path, replay):
    player = replay()
    report = player.score("candidate-0000", player.seed)
    cells = (report.cells[0].model_copy(update={"infra_failed": True}), *report.cells[1:])
    player.score = lambda *_: altered(report, cells=cells)
    with pytest.raises(Transient, match=r"task 'a-task' attempt 1 has no verifier reward"):
        search(tmp_path, player)
    assert not (tmp_path / "state.json").exists()
    path = tmp_path / "candidates/candidate-0000/report.json"
    path.write_text(dump_text(altered(report, cells=cells).model_dump(mode="json")))  # nor one that lies there already
    with pytest.raises(BadDocument, match=r"no verifier reward[:;] move '.*report\.json' away to score again"):
        search(tmp_path, player)
    assert not (tmp_path / "state.json").exists()


def test_another_reward_mode_than_the_seeds_is_refused(tmp_path, replay):
    player = replay()
    works = player.score

    def in_raw_mode(candidate_id, tree):
        report = works(candidate_id, tree)
        if candidate_id == "candidate-0000":
            return report
        cells = tuple(cell.model_copy(update={"passed": cell.reward == 1.0}) for cell in report.cells)
        return altered(report, reward_mode="raw", cells=cells)

    player.score = in_raw_mode
    with pytest.raises(BadDocument, match="its reward mode is 'raw', the run's is 'positive-binary'"):
        search(tmp_path, player)


def test_commit_leaves_the_trials_and_the_evidence_that_is_right(tmp_path, replay):
    player = replay()
    works = player.score
    inodes = {}

    def with_trials(candidate_id, tree):
        folder = tmp_path / "candidates" / candidate_id
        (folder / "trials/a-task").mkdir(parents=True)
        (folder / "trials/a-task/cell.json").write_text("{}")
        inodes[candidate_id] = (folder / "source/SYSTEM.md").stat().st_ino
        return works(candidate_id, tree)

    player.score = with_trials
    assert search(tmp_path, player).completed
    assert len(inodes) == 4
    for candidate_id, inode in inodes.items():
        folder = tmp_path / "candidates" / candidate_id
        assert (folder / "trials/a-task/cell.json").read_text() == "{}"
        assert (folder / "source/SYSTEM.md").stat().st_ino == inode


def test_a_source_that_changes_while_it_is_scored_is_an_error(tmp_path, replay):
    player = replay()
    works = player.score

    def and_meddle(candidate_id, tree):
        (tmp_path / "candidates" / candidate_id / "source/SYSTEM.md").write_text("Meddled with.")
        return works(candidate_id, tree)

    player.score = and_meddle
    with pytest.raises(BadDocument, match="not what was scored"):
        search(tmp_path, player)


def test_a_finished_report_is_committed_and_not_bought_again(vector, replay, complete, run_files):
    run, player = vector("run-pending"), replay()
    report = complete / "candidates/candidate-0004/report.json"
    (run / "candidates/candidate-0004/report.json").write_bytes(report.read_bytes())
    assert search(run, player).completed
    assert player.calls == []
    assert run_files(run) == run_files(complete)
