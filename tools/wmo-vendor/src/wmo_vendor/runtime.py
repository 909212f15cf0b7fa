"""vendor/runtime: the libraries that pi's source imports, bundled once, with V8's compiled code beside them."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from wmo_episode.layout import CACHE
from wmo_episode.warm import warm_compile_cache
from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import Missing
from wmo_kit.log import Log

from wmo_vendor.node import run_script

SCRIPTS = Path(__file__).parent / "scripts"


def build_runtime(vendor_dir: Path, seed: SourceTree, log: Log, pass_fds: Sequence[int] = ()) -> dict[str, bytes]:
    """Build the runtime from vendor/node_modules and give its files: node_modules/... and compile-cache/...

    The cache is portable (paths relative to itself), so it may be made here and used at the final place. Where there is
    no box to warm it in it stays empty: only boxes use it. Raises RuntimeError where esbuild fails, OSError.
    """
    # Inside node_modules: imports of the entries resolve from there, and `npm ci` sweeps what a kill left.
    staging = vendor_dir / "node_modules" / ".wmo-runtime"
    shutil.rmtree(staging, ignore_errors=True)
    (staging / CACHE).mkdir(parents=True)
    run_script(SCRIPTS / "bundle.mjs", vendor_dir, staging, pass_fds=pass_fds)
    try:
        warm_compile_cache(staging.absolute(), seed)
    except Missing as error:
        log.say("cold", f"the compile cache stays empty: {error}")
    files = {
        path.relative_to(staging).as_posix(): path.read_bytes() for path in sorted(staging.rglob("*")) if path.is_file()
    }
    shutil.rmtree(staging)
    return files
