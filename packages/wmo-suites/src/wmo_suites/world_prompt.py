"""What a world model is asked: one call to answer, and all that it may know for it. Pure, and bounded in size."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.episode import Action, Observation

from wmo_suites.nearest import Example

INSTRUCTION_CHARACTERS = 8_000
"""The longest bundled instruction is a fifth of it."""
NOTE_CHARACTERS = 4_000
"""Of the note: it is written anew with every reply, so it has to stay a note."""
CALL_CHARACTERS = 16_000
"""Of each argument of the call to answer: a whole file may be written, and its content has to be known."""
STEP_CHARACTERS = 2_000
"""Of each argument and observation of the last steps; what matters longer belongs into the note."""
EXAMPLE_CHARACTERS = 6_000
"""Of each argument and observation of an example: most outputs of the bundled tasks' commands are whole in it."""
LAST_STEPS = 8
EXAMPLES = 6
"""With all these, a prompt holds at most 140,000 characters of text, and about 10,000 in a usual episode."""
OUTPUT_TOKENS = 8_192
"""An observation of 30,000 characters, the sandbox's cap, is about as much."""
CUT = "\n[... {cut} characters are left out here ...]\n"

SYSTEM = """You play the computer that an AI agent works on. The agent calls a tool; you say what comes back.

The computer is a Linux machine with the usual command-line programs, no network, and the task's files in /app. The
tools: bash (`command` runs in a fresh shell in /app; output and errors come back in one stream, and where the exit code
is not 0 a last line says "[exit code N]"), read_file (`path`; the file's text comes back), write_file (`path`,
`content`; "wrote N bytes to 'PATH'" comes back).

You get one JSON object:
- instruction: what the agent is to do. You do not do it. You are no assistant: you only are the machine.
- state_note: your own note on the state of the machine after the last steps; "" at the start.
- last_steps: the agent's last calls, and what came back.
- recorded_examples: calls on the real machine, the most alike first. same_task: at the same task, from the same files.
  same_call: it is the very call that you answer; what came back then is right again unless the agent has changed
  something that matters.
- call: the call to answer.

Answer with one JSON object and nothing else, with exactly these keys:
- content: what comes back, exactly as the machine would print it. No comment, no hint, no help. An empty string where
  the command prints nothing. What the agent has not done has not happened: a file that nobody made does not exist.
- is_error: true where the call fails (for bash: where the exit code is not 0), else false.
- state_note: the note for your next answer, at most 3000 characters: the files that exist or changed and what matters
  of their content, programs that run, variables that stay. Take over from the old note what still holds."""

AGAIN = "That was no valid answer: {problem}. Answer the same call with the one JSON object, and nothing around it."


@dataclass(frozen=True)
class Scene:
    """All that is known when a call is to be answered. `steps` are the episode's so far."""

    instruction: str
    task_id: str
    state_note: str
    steps: Sequence[tuple[Action, Observation]]
    examples: Sequence[Example]
    call: Action


def world_request(scene: Scene) -> ChatRequest:
    """Give the request for one observation: a system message, and one JSON object."""
    told = {
        "instruction": clipped(scene.instruction, INSTRUCTION_CHARACTERS),
        "state_note": clipped(scene.state_note, NOTE_CHARACTERS),
        "last_steps": [_step(action, seen, STEP_CHARACTERS) for action, seen in scene.steps[-LAST_STEPS:]],
        "recorded_examples": [_example(example, scene.task_id) for example in scene.examples[:EXAMPLES]],
        "call": _call(scene.call, CALL_CHARACTERS),
    }
    text = json.dumps(told, indent=1, ensure_ascii=False)
    messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": text})
    return ChatRequest(messages=messages, temperature=0.0, max_tokens=OUTPUT_TOKENS)


def asked_again(request: ChatRequest, reply: ChatReply, problem: str) -> ChatRequest:
    """Give the request with the reply that was no good, and why. The same request alone would give it once more."""
    said = {"role": "assistant", "content": clipped(reply.content or "", STEP_CHARACTERS) or "(nothing)"}
    complaint = {"role": "user", "content": AGAIN.format(problem=problem)}
    return request.model_copy(update={"messages": (*request.messages, said, complaint)})


def clipped(text: str, limit: int) -> str:
    """Give `text`, above `limit` characters its head and its tail with a line between them that says so."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[:half] + CUT.format(cut=len(text) - 2 * half) + text[-half:]


def _call(action: Action, limit: int) -> dict[str, Any]:
    arguments = {name: clipped(str(value), limit) for name, value in action.arguments.items()}
    return {"tool": action.name, "arguments": arguments}


def _step(action: Action, seen: Observation, limit: int) -> dict[str, Any]:
    return {"call": _call(action, limit), "content": clipped(seen.content, limit), "is_error": seen.is_error}


def _example(example: Example, task_id: str) -> dict[str, Any]:
    step = example.step
    return {
        "same_task": example.task_id == task_id,
        "same_call": example.same_call and example.task_id == task_id,
        **_step(step.action, step.observation, EXAMPLE_CHARACTERS),
    }
