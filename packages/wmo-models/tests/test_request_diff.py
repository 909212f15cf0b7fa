from wmo_contracts.chat import ChatRequest
from wmo_models.request_diff import MAX_LINES, request_differences, text_difference

SYSTEM = {"role": "system", "content": "You act.\nYou check.\nYou submit."}
TASK = {"role": "user", "content": "Count the rows."}
CALL = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}


def tool(name, description="does it"):
    return {"type": "function", "function": {"name": name, "description": description}}


def request(*messages, tools=(), **settings):
    return ChatRequest(messages=messages, tools=tools, **settings)


def test_equal_requests_have_no_differences():
    assert request_differences(request(SYSTEM, TASK), request(SYSTEM, TASK)) == ()


def test_each_setting_is_named():
    old = request(TASK, temperature=0.7, max_tokens=10, tool_choice=None)
    new = request(TASK, temperature=0.2, max_tokens=20, tool_choice="auto")
    assert request_differences(old, new) == (
        "temperature: recorded 0.7, now 0.2",
        "max_tokens: recorded 10, now 20",
        'tool_choice: recorded null, now "auto"',
    )


def test_tools_are_named_by_what_became_of_them():
    old = request(TASK, tools=(tool("bash"), tool("read"), tool("submit")))
    new = request(TASK, tools=(tool("bash", "runs"), tool("submit"), tool("look")))
    assert request_differences(old, new) == (
        "tools no longer offered: read",
        "tools newly offered: look",
        "tools described differently: bash",
    )
    turned = request(TASK, tools=(tool("submit"), tool("read"), tool("bash")))
    assert request_differences(old, turned) == ("tools: in another order",)


def test_the_system_prompt_is_named_with_the_line():
    new = {**SYSTEM, "content": "You act.\nYou never check.\nYou submit."}
    assert request_differences(request(SYSTEM, TASK), request(new, TASK)) == (
        "system prompt: line 2: recorded 'You check.', now 'You never check.'",
    )


def test_a_message_is_named_with_its_number_and_role():
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c", "content": "a.csv"}
    found = request_differences(
        request(SYSTEM, TASK, called, result),
        request(SYSTEM, TASK, {"role": "assistant", "content": "hm"}, {**result, "content": "b.csv"}, TASK),
    )
    assert found == (
        "messages: recorded 4, now 5",
        "message 3 (assistant): line 1: recorded 'bash {\"command\": \"ls\"}', now 'hm'",
        "message 4 (tool): line 1: recorded 'a.csv', now 'b.csv'",
        "message 5 (user) is new: 'Count the rows.'",
    )


def test_missing_messages_other_roles_and_other_keys_are_named():
    result = {"role": "tool", "tool_call_id": "c", "content": "a"}
    assert request_differences(request(TASK, result), request(result)) == (
        "messages: recorded 2, now 1",
        "message 1 (tool): recorded one of role user: 'Count the rows.'",
        "message 2 (tool) is missing: 'a'",
    )
    assert request_differences(request(result), request({**result, "tool_call_id": "d"})) == (
        "message 1 (tool): another tool_call_id",
    )


def test_a_long_line_is_shown_around_its_difference():
    shown = text_difference("a" * 1000 + "X" + "b" * 1000, "a" * 1000 + "Y" + "b" * 1000)
    assert "...aaaaaaaaaaaaaaaaaaaaX" in shown
    assert "...aaaaaaaaaaaaaaaaaaaaY" in shown
    assert len(shown) < 350


def test_lines_that_only_one_has():
    assert text_difference("a", "a\nb") == "line 2 is new: 'b'"
    assert text_difference("a\nb", "a") == "line 2 is recorded, now missing: 'b'"


def test_many_differences_are_cut_to_a_few():
    old = request(*({"role": "user", "content": f"{n}"} for n in range(20)))
    new = request(*({"role": "user", "content": f"-{n}"} for n in range(20)))
    found = request_differences(old, new)
    assert len(found) == MAX_LINES + 1
    assert found[-1] == "12 more differences"
