"""The new place of recorded episodes: taken where the recorded one is not there and the same episodes are."""

from types import SimpleNamespace

import pytest
from wmo_contracts.run import ModelSettings, RunSettings
from wmo_contracts.score import ScoreRequest
from wmo_state.moved import relocated

MODEL = ModelSettings(base_url="offline", model="offline-worker", api_key_env="")
RECORD = RunSettings(
    seed="pi",
    seed_tree_hash="t",
    seed_doc_hash="d",
    suite="../suite",
    request=ScoreRequest(task_ids=("a",), attempts=1),
    iterations=1,
    worker=MODEL,
    proposer_model=MODEL,
    recorded=("../kept",),
    recorded_hash="h",
)


@pytest.mark.parametrize(
    ("there", "digest", "place"), [(False, "h", "../new"), (False, "other", "../kept"), (True, "h", "../kept")]
)
def test_recorded_episodes_are_found_again_by_their_hash(tmp_path, there, digest, place):
    if there:
        (tmp_path / "kept").mkdir()
    asked = SimpleNamespace(suite=None, suite_name=None, recorded=("../new",), recorded_hash=digest)
    assert relocated(tmp_path / "run", RECORD, asked) == RECORD.model_copy(update={"recorded": (place,)})
