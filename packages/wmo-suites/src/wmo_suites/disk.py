"""Room on a disk. A command that ran out of it failed for our reason, not for the agent's: that is never a score."""

import errno
import os
from pathlib import Path

FULL_BYTES = 64 * 1024
"""With less than this left a disk counts as full: whatever did not fit may have been larger than what is left."""


def check_room(folder: Path) -> None:
    """Raise OSError (ENOSPC), which names `folder`, where its disk is full: no bytes left, or no inodes.

    Raises OSError as well where the folder is gone. Not seen: a quota, which statvfs does not tell of.
    """
    found = os.statvfs(folder)
    free_blocks = found.f_bfree if os.geteuid() == 0 else found.f_bavail  # a part is kept for root
    no_bytes = found.f_blocks > 0 and free_blocks * found.f_frsize < FULL_BYTES  # no blocks: it does not count them
    no_inodes = found.f_files > 0 and found.f_ffree == 0
    if no_bytes or no_inodes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
