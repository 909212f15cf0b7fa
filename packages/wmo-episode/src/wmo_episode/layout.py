"""The runner's folder: made new for every episode, so that nothing of an earlier one can be run by mistake.

FOLDER/entry.ts, termination.ts    ours, outside the candidate's folder
FOLDER/package.json                says "module", as pi's own does: else node parses every file to find out
FOLDER/harness/                    the candidate's tree
FOLDER/node_modules                the libraries that its source imports
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wmo_harness.source_tree import SourceTree
from wmo_kit.io_errors import naming

OUR_FILES = ("entry.ts", "termination.ts", "package.json")
HARNESS = "harness"
MODULES = "node_modules"
CACHE = "compile-cache"
_SOURCES = Path(__file__).parent / "node"


@contextmanager
def runner_folder(tree: SourceTree, modules: Path | None, parent: Path | None) -> Iterator[Path]:
    """Make the folder below `parent` (None: the system's temporary folder), and remove it at the end.

    `modules` is what node_modules links to; None leaves empty folders for a box to mount node_modules and the compile
    cache on. Written plainly, with no fsync: nobody reads the folder before it is whole, and it never outlives us.
    Raises OSError, and then nothing has been started.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent.absolute()  # the box has its own "here"
    with naming(place):
        folder = Path(tempfile.mkdtemp(prefix="episode-", dir=place))
    try:
        with naming(place):
            _fill(folder, tree, modules)
        yield folder
    finally:
        shutil.rmtree(folder)


def _fill(folder: Path, tree: SourceTree, modules: Path | None) -> None:
    for name in OUR_FILES:
        shutil.copyfile(_SOURCES / name, folder / name)
    for file in tree.files:
        path = folder / HARNESS / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content.encode())
    if modules is None:
        (folder / MODULES).mkdir()
        (folder / CACHE).mkdir()
    else:
        (folder / MODULES).symlink_to(modules)
