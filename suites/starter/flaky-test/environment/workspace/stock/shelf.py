"""A shelf: items with tags, and reservations that expire."""

import time


class Shelf:
    """Items on one shelf; no two shelves know of each other."""

    def __init__(self, clock=time.monotonic, reservations={}):
        """clock() gives seconds; reservations is {item: (who, until)} to begin with, and stays the caller's."""
        self._clock = clock
        self._reservations = reservations
        self._tags = {}

    def add(self, item, tags=()):
        """Puts an item on the shelf; the tags are added to those it has."""
        self._tags.setdefault(item, []).extend(tags)

    def tags(self):
        """All tags on this shelf, each once, in the order in which they were first given."""
        return list({tag for tags in self._tags.values() for tag in tags})

    def reserve(self, item, who, seconds=60):
        """Reserves an item; False when somebody else has it now."""
        if self.holder(item) not in (None, who):
            return False
        self._reservations[item] = (who, self._clock() + seconds)
        return True

    def holder(self, item):
        """Who has the item reserved now, or None."""
        who, until = self._reservations.get(item, (None, 0))
        return who if self._clock() < until else None

    def summary(self):
        """One line: the items that are free now, in the order in which they were put on the shelf."""
        free = set(self._tags) - {item for item in self._reservations if self.holder(item)}
        return "free: " + ", ".join(free)
