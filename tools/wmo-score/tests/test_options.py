from pathlib import Path

import pytest
from wmo_contracts.run import ModelSettings, RunSettings
from wmo_contracts.score import ScoreRequest
from wmo_kit.errors import Conflict, Usage
from wmo_score.options import Options, environment_of, refuse_conflicts, with_matrix

MODEL = ModelSettings(base_url="offline", model="offline-worker", api_key_env="WMO_API_KEY")
RECORD = RunSettings(
    seed="pi",
    seed_tree_hash="t",
    seed_doc_hash="d",
    suite="/suites/mine",
    request=ScoreRequest(task_ids=("b", "a"), attempts=2),
    iterations=1,
    worker=MODEL,
    proposer_model=MODEL,
)


def test_saying_nothing_or_the_same_is_fine():
    refuse_conflicts(Options(jobs=3), Path("/run"), RECORD)
    same = Options(
        suite=Path("/suites/mine"),
        tasks=("a", "b"),
        attempts=2,
        agent="harness",
        sandbox="bwrap",
        reward_mode="raw",
    )
    refuse_conflicts(same, Path("/run"), RECORD)


@pytest.mark.parametrize(
    ("options", "said", "recorded"),
    [
        ({"suite": Path("/suites/other")}, "/suites/other", "/suites/mine"),
        ({"tasks": ("a",)}, "a", "a,b"),
        ({"attempts": 3}, "3", "2"),
        ({"sandbox": "none"}, "none", "bwrap"),
        ({"reward_mode": "positive-binary"}, "positive-binary", "raw"),
    ],
)
def test_a_conflict_names_both_values(options, said, recorded):
    with pytest.raises(Conflict, match=f"says '{said}', but the run's record '{recorded}'"):
        refuse_conflicts(Options(**options), Path("/run"), RECORD)


def test_another_environment_or_other_recorded_episodes_than_the_records_are_conflicts(tmp_path):
    record = RECORD.model_copy(update={"environment": "replay", "recorded": ("../kept",)})
    run = tmp_path / "run"
    refuse_conflicts(Options(env="replay", recorded=(tmp_path / "kept",)), run, record)
    with pytest.raises(Conflict, match="'--env' says 'world-model', but the run's record 'replay'"):
        refuse_conflicts(Options(env="world-model"), run, record)
    with pytest.raises(Conflict, match=f"'--recorded' says '{tmp_path}/other', but the run's record '{tmp_path}/kept'"):
        refuse_conflicts(Options(recorded=(tmp_path / "other",)), run, record)


def test_recorded_trials_are_not_replaced_by_predicted_ones():
    with pytest.raises(Usage, match=r"'--keep kept/\.\./kept' would replace the recorded trials there"):
        environment_of(Options(env="replay", recorded=(Path("kept"),), keep=Path("kept/../kept"), judge=True))


@pytest.mark.parametrize("keep", ["run", "run/trials", "run/x/transfer", ".", "run/../run/.work", "kept/transfer/x"])
def test_nothing_is_kept_within_recorded_trials_or_above_them(tmp_path, keep):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").touch()
    recorded = (tmp_path / "run", tmp_path / "kept")
    with pytest.raises(Usage, match="would replace the recorded trials there"):
        environment_of(Options(env="replay", recorded=recorded, keep=tmp_path / keep, judge=True))


@pytest.mark.parametrize("folder", ["candidates/candidate-0000", "candidates", "holdout/candidate-0001/trials"])
def test_nothing_is_kept_within_a_runs_evidence(tmp_path, folder):
    environment_of(Options(keep=tmp_path / folder))
    (tmp_path / "run.json").touch()
    with pytest.raises(Usage, match=f"would replace evidence of run '{tmp_path}'"):
        environment_of(Options(keep=tmp_path / folder))
    environment_of(Options(keep=tmp_path.parent / "elsewhere" / folder))


def test_what_make_transfer_keeps_in_its_run_is_allowed(tmp_path):
    (tmp_path / "run.json").touch()
    kept = tmp_path / "transfer/simulated/candidate-0000"
    environment_of(Options(env="world-model", recorded=(tmp_path,), keep=kept, judge=True))
    environment_of(Options(env="replay", recorded=(tmp_path / "transfer/real",), keep=kept, judge=True))


@pytest.mark.parametrize("options", [{"keep": Path("k")}, {"agent": "oracle"}])
def test_a_run_is_scored_in_its_own_way(options):
    with pytest.raises(Usage, match="leave out '--keep' and '--agent'"):
        refuse_conflicts(Options(**options), Path("/run"), RECORD)


def test_examples_are_left_out_of_a_world_model_alone():
    environment_of(Options(env="world-model", judge=True, leave_own_out=True))
    for kind in ("sandbox", "replay"):
        with pytest.raises(Usage, match="'--leave-own-out' is for the examples of"):
            environment_of(Options(env=kind, judge=True, recorded=(), leave_own_out=True))
    with pytest.raises(Usage, match="leave out '--leave-own-out'"):
        refuse_conflicts(Options(leave_own_out=True), Path("/run"), RECORD)


def test_a_run_is_not_scored_as_another():
    with pytest.raises(Usage, match="leave out '--as other'"):
        refuse_conflicts(Options(as_run=Path("other")), Path("/run"), RECORD)


def test_the_matrix_of_a_run_is_taken_whole_and_the_rest_stays_as_asked():
    asked = Options(env="world-model", judge=True, keep=Path("k"), jobs=3)
    taken = with_matrix(asked, Path("/run"), RECORD.model_copy(update={"sandbox": "none", "environment": "replay"}))
    assert (taken.suite, taken.tasks, taken.attempts) == (Path("/suites/mine"), ("b", "a"), 2)
    assert (taken.sandbox, taken.reward_mode) == ("none", "raw")
    assert (taken.env, taken.judge, taken.keep, taken.jobs) == ("world-model", True, Path("k"), 3)
