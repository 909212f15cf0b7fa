"""The seed harness `baseline`: a prompt and limits over the kit-python default loop, no source of its own."""

from wmo_harness.source_tree import SourceTree

BASELINE_NAME = "baseline"

SYSTEM = """\
You are a coding agent in a Linux workspace.

The user gives you a task. The workspace is at /app. When you have finished, submit your answer.
"""
CONFIG = """\
[harness]
tools = ["bash", "read_file", "write_file", "submit"]
max_turns = 20
max_output_tokens = 4096
temperature = 0.7
runtime_kind = "kit-python"
"""


def baseline_tree() -> SourceTree:
    """Give the seed harness `baseline`: SYSTEM.md and config.toml. Its text and limits are those of the seed `pi`."""
    return SourceTree.from_mapping({"SYSTEM.md": SYSTEM, "config.toml": CONFIG})
