"""The failure of a tree that is valid as files but is no harness."""

from wmo_kit.errors import BadDocument


class BadHarness(BadDocument):
    """A tree that is no harness document; the message names the path or the key."""
