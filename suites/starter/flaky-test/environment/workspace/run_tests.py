"""Runs the tests in an order that depends on the seed: python3 run_tests.py SEED."""

import random
import sys
import unittest
from pathlib import Path


def cases(suite):
    """Every test case of a suite, however deep it is nested."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from cases(part)
        else:
            yield part


def main():
    root = str(Path(__file__).parent)
    found = sorted(cases(unittest.defaultTestLoader.discover(root + "/tests", top_level_dir=root)), key=lambda case: case.id())
    random.Random(int(sys.argv[1])).shuffle(found)
    return 0 if unittest.TextTestRunner().run(unittest.TestSuite(found)).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
