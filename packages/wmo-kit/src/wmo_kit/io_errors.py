"""OSErrors for people: which file it was about, what went wrong, and what to do."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AGAIN = "then run the same command again"
FREE_SPACE = f"free space there, {AGAIN}"
MAKE_WRITABLE = f"make it writable, {AGAIN}"
ADVICE = {
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: FREE_SPACE,
    errno.EROFS: MAKE_WRITABLE,
    errno.EACCES: MAKE_WRITABLE,
    errno.EPERM: MAKE_WRITABLE,
    errno.ENOTDIR: f"a part of that path is a file: move it away or name another path, {AGAIN}",
    errno.EISDIR: f"a folder stands where a file belongs: move it away, {AGAIN}",
    errno.EEXIST: f"something else stands there: move it away, {AGAIN}",
    errno.EBADF: f"it is closed: give it a file or a pipe, {AGAIN}",
    errno.ENOENT: f"it was removed or never made: restore it or name another path, {AGAIN}",
}
OTHER_ADVICE = f"mend that, {AGAIN}"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError from within speak of `path`: a failed write or fsync has no name, a temp file the wrong one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def describe(error: OSError) -> str:
    """Give one line: what failed on which file, and what to do. Of two files (a copy, a rename) the target counts."""
    name = error.filename if error.filename2 is None else error.filename2
    subject = "" if name is None else f" '{name}':"
    what = error.strerror or " ".join(str(error).split())
    return f"input/output failed:{subject} {what[:1].lower()}{what[1:]}: {ADVICE.get(error.errno or 0, OTHER_ADVICE)}"
