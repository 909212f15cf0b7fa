"""How long the end of an episode may wait for what is still in progress."""

import time
from collections.abc import Callable

from wmo_kit.child import Flag

LOOK_S = 0.05
"""How often a wait looks whether it is to be cut."""


class Patience:
    """`seconds` from now on, and none any more once `cut` is set."""

    def __init__(self, seconds: float, cut: Flag | None = None) -> None:
        self._until = time.monotonic() + seconds
        self._cut = cut

    def left_s(self) -> float:
        """Give the seconds that are left, 0 or more."""
        if self._cut is not None and self._cut.is_set():
            return 0.0
        return max(0.0, self._until - time.monotonic())

    def wait(self, over: Callable[[float], bool]) -> bool:
        """Wait until `over` is true, which itself waits at most the seconds that it is told. Gives whether it is."""
        while not over(min(self.left_s(), LOOK_S)):
            if self.left_s() == 0.0:
                return False
        return True
