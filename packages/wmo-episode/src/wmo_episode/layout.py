"""The runner's folder: made new for every episode, so that nothing of an earlier one can be run by mistake.

FOLDER/harness/                    the candidate's tree
pi-node:
FOLDER/entry.ts and other .ts      ours, outside the candidate's folder
FOLDER/package.json                says "module", as pi's own does: else node parses every file to find out
FOLDER/node_modules                the libraries that its source imports
kit-python:
FOLDER/kit_python/                 ours, a Python package outside the candidate's folder
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from wmo_harness.source_tree import SourceTree
from wmo_kit.io_errors import naming

NODE_FILES = ("entry.ts", "termination.ts", "shim_fetch.ts", "warm_up.ts", "package.json")
HARNESS = "harness"
MODULES = "node_modules"
CACHE = "compile-cache"
KIT = "kit_python"
_NODE_SOURCES = Path(__file__).parent / "node"
_KIT_SOURCES = Path(__file__).parent / KIT


@contextmanager
def node_folder(tree: SourceTree, modules: Path | None, parent: Path | None) -> Iterator[Path]:
    """Make the folder of a pi-node harness; `parent` and errors as in `_folder`.

    `modules` is what node_modules links to; None leaves empty folders for a box to mount node_modules and the compile
    cache on.
    """

    def fill(folder: Path) -> None:
        for name in NODE_FILES:
            shutil.copyfile(_NODE_SOURCES / name, folder / name)
        if modules is None:
            (folder / MODULES).mkdir()
            (folder / CACHE).mkdir()
        else:
            (folder / MODULES).symlink_to(modules)

    with _folder(tree, parent, fill) as folder:
        yield folder


@contextmanager
def kit_folder(tree: SourceTree, parent: Path | None) -> Iterator[Path]:
    """Make the folder of a kit-python harness; `parent` and errors as in `_folder`."""

    def fill(folder: Path) -> None:
        (folder / KIT).mkdir()
        for source in _KIT_SOURCES.glob("*.py"):
            shutil.copyfile(source, folder / KIT / source.name)

    with _folder(tree, parent, fill) as folder:
        yield folder


@contextmanager
def _folder(tree: SourceTree, parent: Path | None, fill: Callable[[Path], None]) -> Iterator[Path]:
    """Make the folder below `parent` (None: the system's temporary folder), `fill` it, and remove it at the end.

    Written plainly, with no fsync: nobody reads the folder before it is whole, and it never outlives us. Raises
    OSError, and then nothing has been started.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent.absolute()  # the box has its own "here"
    with naming(place):
        folder = Path(tempfile.mkdtemp(prefix="episode-", dir=place))
    try:
        with naming(place):
            fill(folder)
            write_harness(folder, tree)
        yield folder
    finally:
        with naming(place):
            shutil.rmtree(folder)


def write_harness(folder: Path, tree: SourceTree) -> None:
    """Write the candidate's files where an agent looks for them in the runner's `folder`. Raises OSError."""
    (folder / HARNESS).mkdir(exist_ok=True)
    for file in tree.files:
        path = folder / HARNESS / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content.encode())
