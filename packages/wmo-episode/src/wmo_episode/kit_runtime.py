"""kit-python: the candidate's `runtime.py`, or the default loop, as a Python process."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wmo_episode.layout import KIT, kit_folder
from wmo_episode.python_interpreter import Python
from wmo_episode.runtime import Runtime


@dataclass(frozen=True)
class KitRuntime(Runtime):
    """Runs a kit-python harness. What its process does is in the package kit_python, which stands beside this file."""

    NAME = "kit"
    ENTRY_COMMAND = ("python3", "-s", "-m", KIT)

    def interpreter(self) -> Python:
        """Give Python."""
        return Python()

    def folder(self) -> AbstractContextManager[Path]:
        """Make the folder with kit_python. Raises OSError."""
        return kit_folder(self.files, self.work)
