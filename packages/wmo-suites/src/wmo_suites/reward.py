"""What a verifier left in its log folder: the reward, and counts of its tests. Nothing in there is trusted."""

import errno
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

from wmo_contracts.base import parse_text
from wmo_contracts.score import CellTests

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
REWARD_MAX_BYTES = 4096
CTRF_MAX_BYTES = 8 << 20


class BadVerdictError(Exception):
    """A verifier's file is missing or not as it should be. The message is a clause: "'reward.txt' is empty"."""


def read_reward(logs: Path) -> float:
    """Give the reward, 0 to 1, of reward.txt (one number) or else reward.json ({"reward": number}).

    Raises BadVerdictError that says what is wrong with them.
    """
    text = _read(logs / "reward.txt", REWARD_MAX_BYTES)
    if text is not None:
        return parse_reward_text(text)
    value = _read(logs / "reward.json", REWARD_MAX_BYTES)
    if value is not None:
        return parse_reward_json(value)
    raise BadVerdictError("it wrote neither 'reward.txt' nor 'reward.json'")


def parse_reward_text(text: str) -> float:
    """Parse reward.txt: one decimal number in [0, 1], white space around it. Raises BadVerdictError."""
    word = text.strip()
    if not NUMBER.fullmatch(word):
        raise BadVerdictError(f"'reward.txt' holds {word[:40]!r}, not one number" if word else "'reward.txt' is empty")
    return _in_range(float(word), "reward.txt")


def parse_reward_json(text: str) -> float:
    """Parse reward.json: an object whose `reward` is a number in [0, 1]; `true` is none. Raises BadVerdictError."""
    try:
        value = parse_text(text)
    except (ValueError, RecursionError) as error:
        raise BadVerdictError(f"'reward.json' is not JSON: {error}") from error
    reward = value.get("reward") if isinstance(value, dict) else None
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise BadVerdictError("'reward.json' has no number under 'reward'")
    return _in_range(float(reward), "reward.json")


def _in_range(reward: float, name: str) -> float:
    if not math.isfinite(reward) or not 0 <= reward <= 1:
        raise BadVerdictError(f"'{name}' holds {reward:g}, which is not between 0 and 1")
    return abs(reward)  # -0.0 is 0


def read_tests(logs: Path) -> CellTests | None:
    """Give the counts of ctrf.json (the Common Test Report Format), None where there is none or nothing was counted.

    Raises BadVerdictError where the file is there but unusable.
    """
    text = _read(logs / "ctrf.json", CTRF_MAX_BYTES)
    return None if text is None else parse_ctrf(text)


def parse_ctrf(text: str) -> CellTests | None:
    """Count the tests of a CTRF report by their status. Raises BadVerdictError."""
    try:
        report: Any = parse_text(text)
        statuses = [test["status"] for test in report["results"]["tests"]]
    except (ValueError, RecursionError) as error:
        raise BadVerdictError(f"'ctrf.json' is not JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise BadVerdictError("'ctrf.json' has no tests with a status under 'results'") from error
    passed, failed = statuses.count("passed"), statuses.count("failed")
    if passed + failed == 0:
        return None
    return CellTests(passed=passed, resolved=passed + failed, unresolved=len(statuses) - passed - failed)


def _read(path: Path, max_bytes: int) -> str | None:
    """Give a small regular file's text, None where it is not there; links, FIFOs and the like are refused unread."""
    name = path.name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}".lower()
        raise BadVerdictError(f"'{name}' {reason}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadVerdictError(f"'{name}' is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise BadVerdictError(f"'{name}' is larger than {max_bytes} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadVerdictError(f"'{name}' is not UTF-8") from error
