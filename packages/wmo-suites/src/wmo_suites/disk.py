"""Room on a disk. A command that ran out of it failed for our reason, not for the agent's: that is never a score."""

import errno
import os
from pathlib import Path

NO_SPACE = os.strerror(errno.ENOSPC)
RESERVE_BYTES = 64 << 20
RESERVE_SHARE = 16
"""A disk with less than RESERVE_BYTES left, or on a small one less than this part of it, counts as full: what did not
fit may have been larger than what is left, and most programs remove what they could not write to its end."""


def check_room(folder: Path, wanted: int = 0) -> None:
    """Raise OSError (ENOSPC), which names `folder`, where its disk is full: too few bytes left, or no inodes.

    Too few are less than the reserve, or less than `wanted`. Raises OSError as well where the folder is gone. Not seen:
    a quota, which statvfs does not tell of.
    """
    found = os.statvfs(folder)
    free = found.f_frsize * (found.f_bfree if os.geteuid() == 0 else found.f_bavail)  # a part is kept for root
    reserve = min(RESERVE_BYTES, found.f_frsize * found.f_blocks // RESERVE_SHARE)
    no_bytes = found.f_blocks > 0 and free < max(reserve, wanted)  # no blocks: such a disk does not count them
    no_inodes = found.f_files > 0 and found.f_ffree == 0
    if no_bytes or no_inodes:
        raise OSError(errno.ENOSPC, f"{NO_SPACE} ({free >> 10} KiB are left)", str(folder))
