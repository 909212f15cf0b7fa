"""The optimizer persona."""

from collections.abc import Collection

from wmo_models.offline.conversation import Conversation
from wmo_models.offline.reply import Move


def next_move(conversation: Conversation, tools: Collection[str]) -> Move:
    """Give the optimizer's next message."""
    return Move("I can do nothing.")
