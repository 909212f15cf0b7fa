"""Which words of a harness the offline worker understands, and which it does not."""

import pytest
from wmo_models.offline.advice import (
    demands_brevity,
    demands_pieces,
    demands_plan,
    demands_tools,
    reminds_to_check,
)

SEED = """\
You are a coding agent in a Linux workspace.

The user gives you a task. The workspace is at /app. When you have finished, submit your answer.

Skills are written procedures. Read one with read_skill(name) before work that it describes.
- git-history-surgery: how to remove or replace something in the whole history of a git repository
"""
NUDGES = """\
Your last message had no tool call. Continue with a tool call, or call submit with your answer when the task is done.
Your last message was cut off at the output limit of 4096 tokens before any tool call. Write less.
Your last tool call was cut off at the output limit of 4096 tokens and was not executed. Split
the work into smaller calls.
The arguments of your last tool call were not a JSON object, so nothing was executed. Write valid JSON.
"""
RULES = (demands_tools, demands_plan, demands_brevity, demands_pieces, reminds_to_check)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("text", [SEED, NUDGES, "", "Be precise. Prefer small commands.", "Write good code."])
def test_ordinary_words_are_no_advice(rule, text):
    assert not rule(text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (demands_tools, "Every reply must contain a tool call: act with the tools."),
        (demands_tools, "Never answer in prose."),
        (demands_tools, "Act through tools in every turn; prose alone does nothing."),
        (demands_tools, "Always call a tool."),
        (demands_tools, "Do not describe what you would do; do it."),
        (demands_tools, "You must use the tools to do the work, in each\nof your turns."),
        (demands_plan, "Before you act, write a detailed plan in prose: what you will look at, and why."),
        (demands_plan, "Explain your approach first."),
        (demands_plan, "First, state your plan; then work."),
        (demands_brevity, "Look around with at most three commands, then start the work."),
        (demands_brevity, "Explore only briefly."),
        (demands_brevity, "Start working after a few commands."),
        (demands_pieces, "Write long files in pieces: several calls that append."),
        (demands_pieces, "Split large files over multiple calls."),
        (demands_pieces, "Break long file contents into chunks."),
        (reminds_to_check, "Before submitting: check your work now by running it; then submit again."),
        (reminds_to_check, "Did you test the script?"),
        (reminds_to_check, "Verify that your changes do what was asked."),
        (reminds_to_check, "Run a test before you submit."),
    ],
)
def test_ordinary_wordings_of_advice_are_understood(rule, text):
    assert rule(text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (demands_plan, "Do not write a plan first."),
        (demands_pieces, "Never write files in pieces."),
        (demands_pieces, "Split the work into smaller calls."),
        (reminds_to_check, "There is no need to check your work."),
        (demands_tools, "You have tools."),
    ],
)
def test_denied_or_vague_advice_is_none(rule, text):
    assert not rule(text)
