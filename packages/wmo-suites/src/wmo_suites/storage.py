"""What a box writes to the host's disk, watched from outside: no limit of the kernel's counts many files together."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

LOOK_S = 0.25
WALK_SHARE = 10
"""Walking the folders takes at most one part in so many of the time, however many files they have."""
BLOCK_BYTES = 512  # stat(2): st_blocks
NAME_BYTES = 4096
"""What any file counts at least: its inode and name are room on the disk too, and empty files would be for nothing."""


@dataclass
class Storage:
    """Set once the `paths` hold `limit_bytes` more than when it was made: a Flag (wmo_kit.child).

    `words` says so, "" before. Not seen is what was removed and is held open: it goes with the box.
    """

    paths: Sequence[Path]
    limit_bytes: int
    words: str = ""
    _before: int = 0
    _look_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._before = sum(map(stored_bytes, self.paths))

    def is_set(self) -> bool:
        """Say whether they do, or did."""
        began = time.monotonic()
        if not self.words and began >= self._look_at:
            if sum(map(stored_bytes, self.paths)) - self._before > self.limit_bytes:
                self.words = f"more than {self.limit_bytes >> 20} MiB of files"
            self._look_at = time.monotonic() + max(LOOK_S, WALK_SHARE * (time.monotonic() - began))
        return bool(self.words)


def stored_bytes(path: Path) -> int:
    """Give what a file, or all below a folder, takes on disk. Links are not followed; what may not be read is not seen.

    No recursion: a box may make folders as deep as it likes.
    """
    total, folders = 0, [os.fspath(path)]
    if not path.is_dir():
        return _size(path)
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    total += _size(entry)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue  # it was removed meanwhile, may not be read, or its path is too long to be named
    return total


def _size(entry: os.DirEntry[str] | Path) -> int:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return 0  # it was removed meanwhile
    return max(found.st_blocks * BLOCK_BYTES, NAME_BYTES)
