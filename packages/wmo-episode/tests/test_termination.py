"""termination.ts is pure: node's own test runner holds it to the design, in termination.test.ts."""

import subprocess
from pathlib import Path

from wmo_episode.node_binary import node_prefix


def test_the_policy_in_node():
    node = node_prefix() / "bin" / "node"
    script = Path(__file__).with_name("termination.test.ts")
    argv = [node, "--test", "--test-isolation=none", "--test-reporter=tap", script]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert "# pass 5" in done.stdout
