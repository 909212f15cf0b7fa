"""`wmo-propose --run runs/demo && wmo-score --run runs/demo`, as design 2 writes it, over pi, node and a verifier."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
SUITE = Path(__file__).parents[2] / "suites" / "starter"


def tool(folder: Path, *argv: str) -> Any:
    done = subprocess.run(
        [BIN / argv[0], *argv[1:]], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_slot_by_hand_from_a_folder_with_relative_paths(tmp_path: Path) -> None:
    edit = "echo 'Work carefully.' >> candidate/SYSTEM.md; echo Ask for care"
    options = ("--seed", "pi", "--suite", str(SUITE), "--slots", "1", "--tasks", "csv-repair", "--proposer", "command")
    tool(tmp_path, "wmo-state", "init", "runs/demo", *options, "--", "bash", "-c", edit)
    tool(tmp_path, "wmo-score", "--run", "runs/demo")
    assert tool(tmp_path, "wmo-state", "next", "runs/demo") == {"step": "propose", "slot": 1}
    candidate = tool(tmp_path, "wmo-propose", "--run", "runs/demo")
    assert (candidate["candidate_id"], candidate["summary"]) == ("candidate-0001", "Ask for care")
    assert tool(tmp_path, "wmo-state", "next", "runs/demo") == {"step": "score", "slot": 1}
    score = tool(tmp_path, "wmo-score", "--run", "runs/demo")
    assert score["candidate_id"] == "candidate-0001"
    trial = tmp_path / "runs" / "demo" / "candidates" / "candidate-0001" / "trials" / "csv-repair" / "attempt-1"
    assert json.loads((trial / "wmo-run.json").read_text())["stop_reason"] == "submitted"
    status = tool(tmp_path, "wmo-state", "status", "runs/demo")
    assert status["completed"] is True
    assert status["outcomes"][1]["summary"] == "Ask for care"
    assert status["outcomes"][1]["changed_files"] == ["SYSTEM.md"]
    assert tool(tmp_path, "wmo-state", "verify", "runs/demo")["ok"] is True
