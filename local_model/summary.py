"""What the trials of a kept score say: one line an episode, from the documents that it leaves."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NO_RESULT = "none"


@dataclass(frozen=True)
class Episode:
    """One trial. `stop_reason` is NO_RESULT where no result is there, `reward` None where there is no verdict.

    `refused` counts the replies with tool calls that were not executed: cut, or no JSON. `model_s` is the time in which
    the model was asked, in seconds.
    """

    task: str
    stop_reason: str
    note: str
    steps: int
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    tool_calls: int
    finish_reasons: str
    model_s: float
    reward: float | None


def read_episodes(kept: Path) -> list[Episode]:
    """Give the trials below `kept` (wmo-score's --keep), by task; those without a verdict, too."""
    return [_episode(folder) for folder in sorted(kept.glob("trials/*/attempt-*")) if folder.is_dir()]


def _episode(folder: Path) -> Episode:
    result, cell = _document(folder / "wmo-run.json"), _document(folder / "cell.json")
    replies = [one["reply"] for one in _document(folder / "exchanges.json").get("exchanges", []) if one.get("reply")]
    usage = result.get("usage", {})
    words = [str(reply["finish_reason"]) for reply in replies]
    return Episode(
        task=folder.parent.name,
        stop_reason=result.get("stop_reason", NO_RESULT),
        note=result.get("note", ""),
        steps=result.get("turns", 0),
        calls=usage.get("calls", 0),
        prompt_tokens=usage.get("prompt_tokens", 0),
        cached_tokens=usage.get("cached_tokens", 0),
        completion_tokens=usage.get("completion_tokens", 0),
        tool_calls=sum(len(reply.get("tool_calls", [])) for reply in replies),
        finish_reasons=", ".join(f"{words.count(word)} {word}" for word in sorted(set(words))),
        model_s=result.get("timings", {}).get("model", 0.0),
        reward=cell["cell"]["reward"] if cell else None,
    )


def _document(path: Path) -> dict[str, Any]:
    """Give a JSON document, empty where there is none: the trial was cut short."""
    if not path.exists():
        return {}
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document
