"""Tests of stock.shelf."""

import unittest

from stock.shelf import Shelf


class ShelfTest(unittest.TestCase):
    def test_tags_are_listed_once_in_order(self):
        shelf = Shelf()
        shelf.add("drill", ["tool", "yellow"])
        shelf.add("saw", ["tool", "zinc"])
        self.assertEqual(shelf.tags(), ["tool", "yellow", "zinc"])

    def test_an_item_is_free_at_first(self):
        shelf = Shelf()
        shelf.add("drill")
        self.assertIsNone(shelf.holder("drill"))

    def test_a_reserved_item_is_refused_to_others(self):
        shelf = Shelf()
        shelf.add("drill")
        self.assertTrue(shelf.reserve("drill", "ann"))
        self.assertFalse(shelf.reserve("drill", "bob"))

    def test_a_reservation_ends(self):
        now = [100.0]
        shelf = Shelf(clock=lambda: now[0])
        shelf.add("saw")
        self.assertTrue(shelf.reserve("saw", "bob", seconds=30))
        now[0] = 131.0
        self.assertIsNone(shelf.holder("saw"))

    def test_summary_names_free_items(self):
        shelf = Shelf()
        for item in ("drill", "hammer", "saw"):
            shelf.add(item)
        shelf.reserve("hammer", "ann")
        self.assertEqual(shelf.summary(), "free: drill, saw")


if __name__ == "__main__":
    unittest.main()
