"""Each weakness of the offline worker, what mends it, and that nothing else does."""

import json

import pytest
from wmo_models.offline.conversation import read_conversation
from wmo_models.offline.reply import utter
from wmo_models.offline.worker import STRANGER_ANSWER, next_move

TOOLS = ("bash", "read_file", "write_file", "submit")
REMINDER = "Before submitting: check your work now by running it; then submit again."
SKILL_INDEX = "\n\nSkills are written procedures.\n- git-surgery: how to rewrite a git history\n"
GOOD_SKILL = {"git-surgery": "Use git filter-branch, then expire the reflog."}
WEAK = ["prose", "unchecked", "long-write", "wanders", "skill"]
CURE = {
    "none": {},
    "prose": {"system": "Every reply must contain a tool call."},
    "unchecked": {"remind_at_submit": REMINDER},
    "long-write": {"max_tokens": 8192},
    "wanders": {"system": "Look around with at most three commands, then start the work."},
    "skill": {"system": "You are a coding agent." + SKILL_INDEX, "skills": GOOD_SKILL, "tools": (*TOOLS, "read_skill")},
}
UNRELATED = {
    "an encouragement": {"system": "You are the best coding agent in the world. Take pride in good work."},
    "check advice far from the end": {"system": "Always check your work before you submit."},
    "a lower temperature": {"temperature": 0.0},
    "a few more turns": {"max_turns": 24},
    "a slightly larger cap": {"max_tokens": 4500},
    "an unrelated skill": {
        "system": "You are a coding agent.\n- csv-repair: how to repair a CSV file\n",
        "skills": {"csv-repair": "filter-branch reflog"},
        "tools": (*TOOLS, "read_skill"),
    },
    "a skill without the procedure": {
        "system": "You are a coding agent." + SKILL_INDEX,
        "skills": {"git-surgery": "Be careful with git."},
        "tools": (*TOOLS, "read_skill"),
    },
}


def test_a_task_without_weakness_is_solved_as_it_is(play, recipes):
    played = play(recipes["none"])
    assert played.solved
    assert played.commands == [recipes["none"].look[0], recipes["none"].solve]


@pytest.mark.parametrize("weakness", WEAK)
def test_a_plain_harness_fails_on_each_weakness(play, recipes, weakness):
    assert not play(recipes[weakness]).solved


@pytest.mark.parametrize("weakness", CURE)
def test_its_cure_mends_each_weakness(play, recipes, weakness):
    assert play(recipes[weakness], **CURE[weakness]).solved


@pytest.mark.parametrize("weakness", WEAK)
@pytest.mark.parametrize("edit", UNRELATED)
def test_unrelated_edits_do_not_help(play, recipes, weakness, edit):
    assert not play(recipes[weakness], **UNRELATED[edit]).solved


@pytest.mark.parametrize("weakness", WEAK)
@pytest.mark.parametrize("other", CURE)
def test_the_cure_of_another_weakness_does_not_help(play, recipes, weakness, other):
    if other != weakness:
        assert not play(recipes[weakness], **CURE[other]).solved


@pytest.mark.parametrize("weakness", CURE)
def test_all_cures_together_do_no_harm(play, recipes, weakness):
    together = {
        "system": "Every reply must contain a tool call. Look around with at most three commands, then start the work."
        + SKILL_INDEX,
        "remind_at_submit": REMINDER,
        "max_tokens": 8192,
        "skills": GOOD_SKILL,
        "tools": (*TOOLS, "read_skill"),
    }
    assert play(recipes[weakness], **together).solved


def test_prose_goes_on_through_every_nudge(play, recipes):
    played = play(recipes["prose"])
    assert (played.stop, played.turns, played.calls) == ("no_tool_call", 4, [])


def test_a_refused_submit_leads_to_check_and_mending(play, recipes):
    played = play(recipes["unchecked"], remind_at_submit=REMINDER)
    names = [name for name, _ in played.calls]
    assert names == ["bash", "bash", "submit", "bash", "bash", "submit"]
    assert played.commands[-2:] == [recipes["none"].check, recipes["none"].solve]


def test_a_reminder_in_a_tool_result_works_before_the_first_submit(play, recipes):
    played = play(recipes["unchecked"], decorate=lambda result: f"{result}\n{REMINDER}")
    assert played.solved
    assert [name for name, _ in played.calls].count("submit") == 1


def test_a_good_check_is_followed_by_submit(play, recipes):
    played = play(recipes["none"], remind_at_submit=REMINDER)
    assert [name for name, _ in played.calls] == ["bash", "bash", "submit", "bash", "submit"]
    assert played.solved


def test_without_the_procedure_a_failed_check_is_admitted(play, recipes):
    played = play(recipes["skill"], remind_at_submit=REMINDER)
    assert not played.solved
    assert "I do not know how to mend it" in played.calls[-1][1]["answer"]


def test_a_skill_is_read_before_the_work(play, recipes):
    played = play(recipes["skill"], **CURE["skill"])
    assert played.calls[1] == ("read_skill", {"name": "git-surgery"})


def test_a_skill_needs_the_tool_that_reads_it(play, recipes):
    assert not play(recipes["skill"], **{**CURE["skill"], "tools": TOOLS}).solved


def test_a_long_write_is_cut_and_tried_again_the_same_way(play, recipes):
    played = play(recipes["long-write"])
    assert played.stop == "output_truncated"
    assert len(played.commands) == 1
    requests = [read_conversation(request["messages"]) for request in played.requests[1:]]
    replies = [utter(next_move(seen, TOOLS, 4096, (recipes["long-write"],)), 4096, 0.7) for seen in requests]
    assert {reply.arguments for reply in replies} == {replies[0].arguments}
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(replies[0].arguments)


@pytest.mark.parametrize("cap", [700, 1500, 4096])
def test_advice_to_write_in_pieces_mends_a_long_write_under_any_sensible_cap(play, recipes, cap):
    played = play(recipes["long-write"], system="Write long files in several pieces.", max_tokens=cap, max_turns=60)
    assert played.solved
    assert len(played.commands) > recipes["long-write"].write.payload.count("\n") * 60 // (cap * 4)


def test_more_turns_mend_wandering(play, recipes):
    assert play(recipes["wanders"], max_turns=40).solved
    assert play(recipes["wanders"]).stop == "max_turns"


def test_advice_beyond_the_memory_is_forgotten(play, recipes):
    long_prompt = CURE["prose"]["system"] + " You are a careful agent." * 250
    assert not play(recipes["prose"], system=long_prompt).solved


def test_asking_for_a_plan_costs_a_turn_and_keeps_prose_tasks_in_prose(play, recipes):
    plan = "Before you act, write a detailed plan in prose."
    assert play(recipes["none"], system=plan).turns == play(recipes["none"]).turns + 1
    assert not play(recipes["prose"], system=f"{CURE['prose']['system']} {plan}").solved


@pytest.mark.parametrize("weakness", CURE)
@pytest.mark.parametrize("edit", [{"temperature": 1.5}, {"max_tokens": 299}])
def test_hurting_edits_hurt_every_task(play, recipes, weakness, edit):
    assert not play(recipes[weakness], **{**CURE[weakness], **edit}).solved


def test_without_bash_it_says_that_it_cannot_act(play, recipes):
    played = play(recipes["none"], tools=("submit",))
    assert played.stop == "no_tool_call"
    assert "no bash tool" in played.texts[0]


def test_an_unknown_task_is_admitted_honestly(recipes):
    messages = [{"role": "user", "content": "Solve world peace."}]
    look = next_move(read_conversation(messages), TOOLS, None, tuple(recipes.values()))
    assert look.call.arguments == {"command": "ls"}
    call = {"id": "call_1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_1", "content": ""}]
    done = next_move(read_conversation(messages), TOOLS, None, tuple(recipes.values()))
    assert done.call.arguments == {"answer": STRANGER_ANSWER}


def test_typed_content_parts_and_the_developer_role_are_read(recipes):
    parts = [{"type": "text", "text": "Please do the task of "}, {"type": "text", "text": "tests."}]
    messages = [
        {"role": "developer", "content": CURE["prose"]["system"]},
        {"role": "user", "content": parts},
    ]
    move = next_move(read_conversation(messages), TOOLS, 4096, (recipes["prose"],))
    assert move.call is not None
