"""Reading what a verifier wrote."""

import os
from pathlib import Path

import pytest
from wmo_contracts.score import CellTests
from wmo_suites.reward import BadVerdictError, parse_ctrf, parse_reward_json, parse_reward_text, read_reward, read_tests


@pytest.mark.parametrize(
    ("text", "reward"), [("1", 1), ("0.5\n", 0.5), (" 1.0 ", 1), ("1e-1", 0.1), (".25", 0.25), ("-0", 0)]
)
def test_rewards(text: str, reward: float) -> None:
    assert parse_reward_text(text) == reward


@pytest.mark.parametrize(
    "text", ["", "  ", "nan", "inf", "1_0", "0x1", "1.1", "-0.1", "1 1", "true", "one", "1e999", "\u0661"]
)
def test_no_rewards(text: str) -> None:
    with pytest.raises(BadVerdictError, match=r"'reward\.txt'"):
        parse_reward_text(text)


def test_json_rewards() -> None:
    assert parse_reward_json('{"reward": 1, "why": "x"}') == 1
    for text in (
        "",
        "[]",
        "1",
        '{"reward": true}',
        '{"reward": "1"}',
        '{"reward": NaN}',
        '{"reward": 2}',
        "[" * 10_000,
    ):
        with pytest.raises(BadVerdictError, match=r"'reward\.json'"):
            parse_reward_json(text)


def test_text_comes_before_json(tmp_path: Path) -> None:
    (tmp_path / "reward.json").write_text('{"reward": 0.25}')
    assert read_reward(tmp_path) == 0.25
    (tmp_path / "reward.txt").write_text("0.75")
    assert read_reward(tmp_path) == 0.75


def test_files_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "reward.txt"
    with pytest.raises(BadVerdictError, match="neither"):
        read_reward(tmp_path)
    (tmp_path / "elsewhere").write_text("1")
    path.symlink_to("elsewhere")
    with pytest.raises(BadVerdictError, match="symbolic link"):
        read_reward(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadVerdictError, match="not a regular file"):
        read_reward(tmp_path)
    path.unlink()
    path.write_text("1" * 5000)
    with pytest.raises(BadVerdictError, match="larger than 4096 bytes"):
        read_reward(tmp_path)
    path.write_bytes(b"\xff")
    with pytest.raises(BadVerdictError, match="not UTF-8"):
        read_reward(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(BadVerdictError, match="not a regular file"):
        read_reward(tmp_path)


def test_counts_of_tests(tmp_path: Path) -> None:
    assert read_tests(tmp_path) is None
    tests = ",".join(
        f'{{"status": "{word}"}}' for word in ("passed", "failed", "passed", "skipped", "other", "pending")
    )
    assert parse_ctrf(f'{{"results": {{"tests": [{tests}]}}}}') == CellTests(passed=2, resolved=3, unresolved=3)
    assert parse_ctrf('{"results": {"tests": [{"status": "skipped"}]}}') is None
    for text in ("", "[]", "{}", '{"results": {"tests": 1}}', '{"results": {"tests": [1]}}'):
        with pytest.raises(BadVerdictError, match=r"'ctrf\.json'"):
            parse_ctrf(text)
