"""The default loop: what a harness without a runtime.py runs. A copy of it as runtime.py is the same harness."""

from typing import Any

MAX_NUDGES = 3  # consecutive replies without a tool call before the episode ends
GO_ON = "Continue with a tool call, or call submit with your answer when the task is done."


def run(kit: Any) -> None:
    """Ask the model, do the call that it writes, show it the result; submit ends the episode, as max_turns does."""
    system = f"{kit.system_prompt.rstrip()}\n\n{kit.tools_text}\n"
    messages = [("user", kit.instruction)]
    nudges = 0
    for turn in range(1, kit.max_turns + 1):
        reply = kit.complete(system, messages)
        messages.append(("assistant", reply))
        try:
            call = kit.parse_tool_call(reply)
        except kit.BadToolCall as problem:
            nudges += 1
            lost = turn == kit.max_turns and problem.reason != "no_tool_call"
            if nudges > MAX_NUDGES or lost:
                kit.stop(problem.reason, f"the agent stopped without a tool call: {problem}")
            messages.append(("user", f"{problem} {GO_ON}"))
            continue
        nudges = 0
        observation = kit.execute(call.tool, call.arguments)
        label = "Error from" if observation.is_error else "Result of"
        messages.append(("user", f"{label} {call.tool}:\n{observation.content}"))
    kit.stop("max_turns", f"the agent used all of its {kit.max_turns} turns without calling submit")
