#!/bin/bash
set -e
cat > /app/versions.py <<'PY'
"""Sorts semantic versions: one a line on stdin, lowest precedence first on stdout."""

import re
import sys

NUMBER = r"(?:0|[1-9][0-9]*)"
WORD = r"(?:[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
VERSION = re.compile(
    rf"({NUMBER})\.({NUMBER})\.({NUMBER})(?:-((?:{NUMBER}|{WORD})(?:\.(?:{NUMBER}|{WORD}))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def identifier(text):
    """Numbers come before words; numbers compare as numbers, words by their bytes."""
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def precedence(found):
    """A version without a pre-release comes after all its pre-releases; build metadata does not count."""
    core = tuple(int(found[i]) for i in (1, 2, 3))
    return core, found[4] is None, [identifier(part) for part in (found[4] or "").split(".")]


def main():
    valid, status = [], 0
    for line in sys.stdin:
        text = line.strip()
        if not text:
            continue
        if found := VERSION.fullmatch(text):
            valid.append(found)
        else:
            print(f"invalid: {text}", file=sys.stderr)
            status = 1
    for found in sorted(valid, key=precedence):
        print(found[0])
    return status


sys.exit(main())
PY
