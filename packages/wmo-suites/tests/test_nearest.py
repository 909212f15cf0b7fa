"""The ranking of recorded steps, and the replay environment that answers from them."""

import pytest
from wmo_contracts.episode import Action, Observation, Step
from wmo_suites.nearest import RecordedSteps, call_key
from wmo_suites.recorded import RecordedEpisode
from wmo_suites.replay import Replay


def bash(command: str) -> Action:
    return Action(kind="tool", name="bash", arguments={"command": command})


def read(path: str) -> Action:
    return Action(kind="tool", name="read_file", arguments={"path": path})


def episode(task: str, *calls: tuple[Action, str]) -> RecordedEpisode:
    return RecordedEpisode(task, tuple(Step(action=a, observation=Observation(content=c)) for a, c in calls))


def contents(found) -> list[str]:
    return [example.step.observation.content for example in found]


def test_the_same_task_and_call_come_first_then_what_is_most_alike():
    steps = RecordedSteps(
        [
            episode("other", (bash("cat /app/data.csv"), "other task"), (bash("ls"), "other ls")),
            episode("mine", (bash("wc -l notes"), "far"), (bash("cat /app/data.csv | head"), "near"), (read("x"), "x")),
            episode("mine", (bash("cat /app/data.csv"), "same")),
        ]
    )
    found = steps.nearest("mine", [], bash("cat /app/data.csv"), 10)
    assert contents(found) == ["same", "near", "far", "other task", "other ls"]
    assert [example.same_call for example in found] == [True, False, False, True, False]
    assert [example.task_id for example in found] == ["mine"] * 3 + ["other"] * 2
    assert contents(steps.nearest("mine", [], bash("cat /app/data.csv"), 2)) == ["same", "near"]
    assert contents(steps.nearest("new", [], read("y"), 10)) == ["x"]


def test_a_step_that_many_attempts_share_is_one_example_and_ties_keep_their_order():
    attempts = [episode("t", (bash("ls"), "a b"), (bash(f"cat {name}"), name)) for name in ("zz", "yy", "xx")]
    found = RecordedSteps(attempts).nearest("t", [], bash("cat"), 10)
    assert contents(found) == ["zz", "yy", "xx", "a b"]
    assert contents(RecordedSteps([]).nearest("t", [], bash("cat"), 10)) == []


def test_what_came_back_otherwise_after_other_calls_is_ranked_by_these():
    twice = [episode("t", (bash("cat f"), f"v{number}"), (bash("./next"), "")) for number in range(3)]
    late = episode("t", (bash("make"), ""), (bash("cat f"), "made"))
    found = RecordedSteps([*twice, late]).nearest("t", [call_key(bash("make"))], bash("cat f"), 5)
    assert contents(found) == ["made", "v0", "v1", "v2", ""]


def test_words_alone_do_not_make_a_call_the_same():
    found = RecordedSteps([episode("t", (bash("a > b"), "x"))]).nearest("t", [], bash("a < b"), 1)
    assert [example.same_call for example in found] == [False]


CAT, WRITE, LOOK = bash("cat f"), bash("echo new > f"), bash("ls")


@pytest.fixture
def replay() -> Replay:
    return Replay(
        "t",
        RecordedSteps(
            [
                episode("t", (CAT, "old"), (WRITE, ""), (CAT, "new")),
                episode("t", (LOOK, "f"), (CAT, "old, after ls"), (WRITE, ""), (LOOK, "f"), (CAT, "new, after ls")),
                episode("u", (bash("only elsewhere"), "no")),
            ]
        ),
    )


def play(replay: Replay, *actions: Action) -> list[str]:
    return [replay.execute(action).content for action in actions]


def test_a_replay_follows_the_episode_that_went_the_same_way(replay):
    assert play(replay, CAT, WRITE, CAT, CAT) == ["old", "", "new", "new"]


def test_an_episode_that_began_otherwise_is_left_aside(replay):
    assert play(replay, LOOK, CAT, WRITE, CAT) == ["f", "old, after ls", "", "new, after ls"]


def test_what_was_done_counts_where_no_episode_began_alike(replay):
    unknown = bash("date")
    assert play(replay, unknown, WRITE, CAT)[1:] == ["", "new"]


def test_a_call_that_is_nowhere_recorded_is_an_error_that_says_so(replay):
    for action in (bash("cat  f"), bash("only elsewhere"), read("f")):
        seen = replay.execute(action)
        assert seen.is_error
        assert seen.content.startswith("not recorded: no recorded episode of this task has this call of '")


def test_a_replay_gives_the_whole_observation_and_refuses_bad_calls_as_the_sandbox_does():
    failed = Observation(content="[exit code 3]", is_error=True, exit_code=3)
    recorded = RecordedEpisode("t", (Step(action=bash("false"), observation=failed),))
    replay = Replay("t", RecordedSteps([recorded]))
    assert replay.execute(bash("false")) == failed
    bad = replay.execute(Action(kind="tool", name="bash", arguments={}))
    assert bad.content == "bad arguments for 'bash': it takes exactly command; given: none"


def test_the_order_of_arguments_does_not_matter():
    one = Action(kind="tool", name="write_file", arguments={"path": "p", "content": "c"})
    other = Action(kind="tool", name="write_file", arguments={"content": "c", "path": "p"})
    assert call_key(one) == call_key(other)
