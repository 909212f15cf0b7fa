"""The interpreter of kit-python harnesses: the Python that boxes have anyway, its standard library and nothing else."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.episode import SandboxMode
from wmo_suites.box import Bind
from wmo_suites.host import survey

from wmo_episode.runner import SYSTEM_PATH


@dataclass(frozen=True)
class Python:
    """Python 3.11 or newer, without third-party packages in a box."""

    def binds(self) -> Sequence[Bind]:
        """Give nothing: every closed box has its Python."""
        return ()

    def environment(self, mode: SandboxMode) -> Mapping[str, str]:
        """Give PATH and Python's own variables. Raises Missing."""
        # without a box: the one that we run on, outside its virtual environment
        folder = Path(survey().python).parent if mode == "bwrap" else Path(sys.base_prefix) / "bin"
        return {
            "PATH": f"{folder}:{SYSTEM_PATH}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",  # the order of a candidate's sets must not vary between two runs
        }
