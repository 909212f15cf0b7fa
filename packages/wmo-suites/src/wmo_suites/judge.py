"""The judge: a model that decides whether a task's assertions hold for an episode."""

from typing import Protocol

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.episode import EpisodeResult, Usage
from wmo_contracts.verdict import VerdictDocument

from wmo_suites.judge_request import judge_request
from wmo_suites.judge_verdict import read_verdict
from wmo_suites.task import Task, require_gold


class JudgeModel(Protocol):
    """A model that can be asked for a verdict."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the model's message for `request`. Raises whatever says that there is none."""
        ...


def judge_episode(task: Task, result: EpisodeResult, model: JudgeModel) -> tuple[VerdictDocument, Usage]:
    """Give the verdict on an episode at `task`, and what the judge used. A task with no assertions passes unasked.

    A reply that is not as it should be fails the trial. No reply is no verdict: what the model raises goes through.
    Raises BadDocument for a task without a gold.toml.
    """
    require_gold([task])
    if not task.assertions:
        return VerdictDocument(passed=True, assertions=()), Usage()
    reply = model.complete(judge_request(task.instruction, task.assertions, result))
    return read_verdict(reply, task.assertions), reply.usage
