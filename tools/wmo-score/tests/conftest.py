import shutil
from pathlib import Path

import pytest
from wmo_kit.log import Log

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture
def log() -> Log:
    return Log("wmo-score")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Give a copy of the fixture tasks, for a test to change: count (two graded tests), greet, serve (shared)."""
    shutil.copytree(TASKS, tmp_path / "suite")
    return tmp_path / "suite"
