"""vendor/runtime: the libraries that pi's source imports, bundled once, with V8's compiled code beside them."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from wmo_vendor.node import run_script

SCRIPTS = Path(__file__).parent / "scripts"
BOX_UID = 1000
"""The uid inside the node box. Node names its cache directory by uid, so the cache is kept under both names."""


def build_runtime(vendor_dir: Path, pass_fds: Sequence[int] = ()) -> dict[str, bytes]:
    """Build the runtime from vendor/node_modules and give its files: node_modules/... and compile-cache/...

    The cache is portable (paths relative to itself), so it may be made here and used at the final place. Raises
    RuntimeError where esbuild or the bundle fails, OSError.
    """
    # Inside node_modules: imports of the entries resolve from there, and `npm ci` sweeps what a kill left.
    staging = vendor_dir / "node_modules" / ".wmo-runtime"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    run_script(SCRIPTS / "bundle.mjs", vendor_dir, staging, pass_fds=pass_fds)
    cache = staging / "compile-cache"
    env = {"NODE_COMPILE_CACHE": str(cache), "NODE_COMPILE_CACHE_PORTABLE": "1"}
    run_script(SCRIPTS / "warm.mjs", staging, env=env, pass_fds=pass_fds)
    for directory in list(cache.iterdir()):
        twin = directory.with_name(directory.name.removesuffix(f"-{os.getuid()}") + f"-{BOX_UID}")
        if not twin.exists():
            shutil.copytree(directory, twin)
    files = {
        path.relative_to(staging).as_posix(): path.read_bytes() for path in sorted(staging.rglob("*")) if path.is_file()
    }
    shutil.rmtree(staging)
    return files
