"""Episodes of real pi, recorded and played again: the same, or told where they are not."""

import pytest
from wmo_contracts.episode import Action, EpisodeResult, Observation, Step, Usage
from wmo_episode.replay import NOT_RECORDED, RecordedTools, compare, result_differences, verdict
from wmo_models.recording import RecordingProvider
from wmo_models.replay import ReplayProvider


class Recorded:
    """One recorded episode of pi: two commands, then an answer."""

    def __init__(self, make_runtime, provider, environment):
        self.make_runtime = make_runtime
        recorder = RecordingProvider(provider)
        self.result = make_runtime(recorder).run("t", "Do it.", environment)
        self.document = recorder.document()

    def again(self, environment=None, edits=None, document=None):
        provider = ReplayProvider(document or self.document)
        tools = environment or RecordedTools(self.result.steps, provider.depart)
        result = self.make_runtime(provider, edits=edits).run("t", "Do it.", tools)
        return result, compare(provider, self.result, result)


@pytest.fixture
def recorded(make_runtime, scripted, says, call, environment):
    provider = scripted(
        says(call("bash", command="one"), call("bash", 1, command="two")),
        says(text="let me think"),
        says(call("submit", answer="42")),
    )
    return Recorded(make_runtime, provider, environment)


def test_an_episode_is_the_same_again_and_runs_no_tool(recorded, environment):
    before = len(environment.actions)
    result, replay = recorded.again()
    assert result.model_copy(update={"timings": {}}) == recorded.result.model_copy(update={"timings": {}})
    assert (replay.outcome, replay.recorded, replay.served, replay.turn, replay.differences) == ("same", 3, 3, None, ())
    assert verdict(replay) == "as recorded: all 3 completions and the result"
    assert len(environment.actions) == before


def test_a_tool_that_answers_otherwise_is_told_at_the_next_turn(recorded):
    class Other:
        def execute(self, action):
            return Observation(content=f"ran {action.arguments['command']} late", exit_code=0)

        def close(self):
            pass

    result, replay = recorded.again(Other())
    assert (replay.outcome, replay.served, replay.turn) == ("other_request", 1, 2)
    assert replay.differences[0] == "message 4 (tool): line 1: recorded 'ran one', now 'ran one late'"
    assert result.stop_reason == "provider_error"
    assert result.note.startswith("replay: turn 2: message 4 (tool): ")


def test_an_agent_that_calls_tools_in_another_way_is_told_at_that_turn(recorded, seed):
    loop = seed.as_mapping()["src/agent-loop.ts"]
    call = "const preparedToolCall = prepareToolCallArguments(tool, toolCall);"
    assert loop.count(call) == 1
    edited = loop.replace(call, f"{call}\n\t\tif ((toolCall.arguments as any).command === 'two') "
                          "(preparedToolCall.arguments as any).command = 'three';")  # fmt: skip
    result, replay = recorded.again(edits={"src/agent-loop.ts": edited})
    assert (replay.outcome, replay.turn) == ("other_action", 1)
    assert verdict(replay).startswith("turn 1: the harness acts in another way than recorded: 'bash' {")
    assert NOT_RECORDED in verdict(replay)
    assert result.steps[1].observation == Observation(content=NOT_RECORDED, is_error=True)
    assert result.stop_reason == "provider_error"


def test_an_agent_that_ends_early_or_in_another_way_is_told(recorded):
    quiet = "export class Agent {\n  state = {};\n  subscribe() {}\n  abort() {}\n  async prompt() {}\n}\n"
    result, replay = recorded.again(edits={"src/index.ts": quiet})
    assert (replay.outcome, replay.served, replay.turn) == ("ended_early", 0, 1)
    assert verdict(replay) == (
        "turn 1 is recorded, but the harness ended without asking for it: "
        "stop_reason: recorded 'submitted', now 'no_tool_call'"
    )
    assert result.stop_reason == "no_tool_call"


def test_recorded_tools_give_each_observation_once_in_order():
    def step(command, content):
        action = Action(kind="tool", name="bash", arguments={"command": command})
        return Step(action=action, observation=Observation(content=content))

    unknown = []
    tools = RecordedTools((step("ls", "a"), step("pwd", "/app"), step("ls", "a b")), unknown.append)
    said = [tools.execute(step(command, "").action).content for command in ("ls", "ls", "pwd")]
    assert said == ["a", "a b", NOT_RECORDED]
    assert unknown == [f'\'bash\' {{"command": "pwd"}}: {NOT_RECORDED}']


def test_differences_between_results_are_named():
    def result(*steps, **keys):
        base = {"task_id": "t", "stop_reason": "submitted", "answer": "1", "timings": {"total": 1.0}}
        return EpisodeResult(**{**base, "steps": steps, "turns": len(steps), **keys})

    def step(content="a", **keys):
        action = Action(kind="tool", name="bash", arguments={"command": "ls"})
        return Step(action=action, observation=Observation(content=content, **keys))

    old = result(step())
    assert result_differences(old, result(step(), timings={})) == ()
    assert result_differences(old, result(step(), answer="2")) == ("answer: recorded '1', now '2'",)
    assert result_differences(old, result(step("b"))) == (
        "step 1: what 'bash' {\"command\": \"ls\"} gave: line 1: recorded 'a', now 'b'",
    )
    assert "flagged differently" in result_differences(old, result(step(is_error=True)))[0]
    assert result_differences(old, result(step(), step()))[0].startswith("step 2: new: 'bash'")
    assert result_differences(old, result())[0].startswith("step 1: missing: 'bash'")
    assert result_differences(old, result(step(), usage=Usage(calls=1)))[0].startswith("usage: ")
