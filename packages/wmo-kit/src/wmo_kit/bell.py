"""An event that a poll for something else sees too."""

import os
import threading
import weakref


class Bell(threading.Event):
    """An Event whose descriptor is readable once it is set: a wait for a child ends with it at once (Child.wait)."""

    def __init__(self) -> None:
        super().__init__()
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._descriptor)  # whoever still may ring it keeps it

    def set(self) -> None:
        """Set it, and wake whoever polls."""
        super().set()
        os.eventfd_write(self._descriptor, 1)

    def fileno(self) -> int:
        """Give the descriptor, for a poll."""
        return self._descriptor
