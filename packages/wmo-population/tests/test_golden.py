"""The reference's run directories, byte for byte: `vectors/` was written by world-model-optimizer 0.2.0."""

import pytest
from wmo_population import optimize


def finish(run_dir, player):
    result = optimize(player.seed, player, player, 4, run_dir=run_dir)
    assert result.completed
    assert result.best_score == 0.75
    assert result.best.candidate_id == "candidate-0000"  # 3 and 4 score the same, the earliest wins
    assert [outcome.kind for outcome in result.outcomes] == ["scored", "scored", "invalid", "scored", "scored"]
    assert [candidate.score for candidate in result.population] == [0.75, 0.5, 0.75, 0.75]


SCORE_0, SCORE_1, SCORE_3, SCORE_4 = (f"score candidate-000{slot}" for slot in (0, 1, 3, 4))


def test_the_same_inputs_give_the_reference_run(tmp_path, replay, complete, run_files):
    player = replay()
    finish(tmp_path / "run", player)
    assert run_files(tmp_path / "run") == run_files(complete)
    assert player.calls == [*(SCORE_0, "propose 1", SCORE_1, "propose 2", "propose 3", SCORE_3, "propose 4", SCORE_4)]


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("run-partial", ["propose 3", SCORE_3, "propose 4", SCORE_4]),
        ("run-pending", [SCORE_4]),
        ("run-complete", []),
    ],
)
def test_a_run_of_the_reference_resumes(name, calls, vector, replay, complete, run_files):
    run, player = vector(name), replay()
    finish(run, player)
    assert player.calls == calls
    assert run_files(run) == run_files(complete)
