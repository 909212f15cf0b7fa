"""One more entry in state.json: behind the text that is there where that is ours, else the whole file anew."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from wmo_population import PopulationRunState
from wmo_population.outcomes import SlotOutcome

INVALID = SlotOutcome(4, "candidate-0004", None, "bad \u2028 'reason'\n", "proposals/slot-0004")


def plain(text: str) -> str:
    return text


def compact(text: str) -> str:
    return json.dumps(json.loads(text))


def with_a_key_in_front(text: str) -> str:
    return json.dumps({"made_by": "hand", **json.loads(text)}, indent=2) + "\n"


def with_a_list_behind(text: str) -> str:
    value = json.loads(text)
    return json.dumps({**value, "zz": value["outcomes"]}, indent=2) + "\n"


@pytest.mark.parametrize("shape", [plain, compact, with_a_key_in_front, with_a_list_behind])
def test_an_entry_more_gives_the_one_text_whatever_the_file_looked_like(
    vector: Callable[[str], Path], shape: Callable[[str], str]
) -> None:
    run = vector("run-complete")
    entries = json.loads((run / "state.json").read_text())["outcomes"]
    kept = entries[:4]
    (run / "state.json").write_text(shape(json.dumps({"outcomes": kept}, indent=2, ensure_ascii=False) + "\n"))
    (run / "candidates/candidate-0004/report.json").unlink()
    PopulationRunState(run).commit(INVALID)
    wanted = {
        "candidate_id": "candidate-0004",
        "evidence_dir": "proposals/slot-0004",
        "kind": "invalid",
        "reason": INVALID.reason,
        "slot": 4,
    }
    text = json.dumps({"outcomes": [*kept, wanted]}, indent=2, ensure_ascii=False) + "\n"
    assert (run / "state.json").read_text("utf-8") == text


def test_the_first_entry_goes_into_an_empty_list(vector: Callable[[str], Path], replay: type, tmp_path: Path) -> None:
    done = PopulationRunState(vector("run-complete")).load_slot(0)
    run = tmp_path / "new"
    run.mkdir()
    (run / "state.json").write_text('{\n  "outcomes": [\n  ]\n}\n')
    PopulationRunState(run).commit(done)
    assert PopulationRunState(run).load() == (done,)
