"""The official client, an independent reader of our wire."""

import openai
import pytest
from faulty_endpoint import endpoint
from wmo_episode.door import on_loopback
from wmo_episode.patience import Patience
from wmo_episode.server import Shim
from wmo_kit.config import Endpoint
from wmo_models.client import OpenAIClient, RetryPolicy
from wmo_models.failover import Waterfall
from wmo_models.provider import ProviderError

MESSAGES = [{"role": "user", "content": "list the files"}]
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture
def connect(make_session):
    opened = []

    def start(provider):
        shim = Shim(make_session(provider), on_loopback())
        client = openai.OpenAI(base_url=f"{shim.door.url}/v1", api_key=shim.door.token)
        opened.append((client, shim))
        return client

    yield start
    for client, shim in opened:
        client.close()
        shim.close(Patience(5))


def test_a_plain_chat_with_a_tool_call(connect, scripted, says, call):
    client = connect(scripted(says(call("bash", command="ls"), text="looking")))
    completion = client.chat.completions.create(model="wmo", messages=MESSAGES, tools=TOOLS)
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "looking"
    assert choice.message.tool_calls[0].function.arguments == '{"command": "ls"}'
    assert completion.usage.total_tokens == 12


def test_a_streamed_chat_with_tool_calls(connect, scripted, says, call):
    client = connect(scripted(says(call("bash", 0, command="ls"), call("bash", 1, command="pwd"))))
    with client.chat.completions.stream(
        model="wmo", messages=MESSAGES, tools=TOOLS, stream_options={"include_usage": True}
    ) as stream:
        completion = stream.get_final_completion()
    calls = completion.choices[0].message.tool_calls
    assert [(one.id, one.function.arguments) for one in calls] == [
        ("call-0", '{"command": "ls"}'),
        ("call-1", '{"command": "pwd"}'),
    ]
    assert completion.usage.prompt_tokens == 10


def test_a_model_failure_is_the_clients_error_and_is_asked_for_once(connect, scripted):
    provider = scripted(ProviderError("endpoint down", transient=True))
    client = connect(provider)
    with pytest.raises(openai.InternalServerError, match="endpoint down"):
        client.chat.completions.create(model="wmo", messages=MESSAGES)
    with pytest.raises(openai.APIError, match="endpoint down"):
        list(client.chat.completions.create(model="wmo", messages=MESSAGES, stream=True))
    assert len(provider.requests) == 1


def test_a_wrong_token_and_a_bad_request_are_typed_errors(connect, scripted):
    client = connect(scripted())
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="wmo", messages=[])
    assert [model.id for model in client.models.list()] == ["wmo"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("plan", "error"),
    [
        ("hang", openai.InternalServerError),
        ("half", openai.InternalServerError),
        ((404, {}, {"error": {"message": "no such model"}}), openai.InternalServerError),
        ((400, {}, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}), openai.BadRequestError),
    ],
)
def test_whatever_the_endpoint_does_the_client_gets_its_error_once(connect, plan, error, stream):
    policy = RetryPolicy(attempts=2, total_s=2, wait_first_s=0.001, wait_cap_s=0.01)
    with endpoint(plan) as server:
        upstream = OpenAIClient(Endpoint(base_url=server.url, model="m", timeout_s=0.2), "", policy)
        client = connect(Waterfall([upstream], policy))
        with pytest.raises(openai.APIError if stream else error, match="model 'm' at "):
            answer = client.chat.completions.create(model="wmo", messages=MESSAGES, stream=stream)
            list(answer)
        assert len(server.requests) == (2 if isinstance(plan, str) else 1)
        upstream.close()
