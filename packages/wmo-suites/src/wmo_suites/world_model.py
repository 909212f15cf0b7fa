"""The world-model environment: a model plays the workspace. Its failures are never observations."""

import contextvars
import threading
import time
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.episode import Action, Observation, Usage
from wmo_kit.errors import Transient

from wmo_suites.nearest import RecordedSteps, call_key
from wmo_suites.tool_calls import call_problem
from wmo_suites.world_prompt import EXAMPLES, NOTE_CHARACTERS, Scene, asked_again, clipped, world_request
from wmo_suites.world_reply import BadReply, Prediction, read_prediction

TRIES = 3
"""How often one call is asked for: a model that gives no valid JSON three times will not the fourth time either."""
NOT_ANSWERED = "the world model had not answered when the episode was over"
CONTENT_CHARACTERS = 30_000
"""The sandbox's cap on an observation."""


class Completer(Protocol):
    """The model that plays the world. It raises Transient or Missing where it fails."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the model's reply."""
        ...


@dataclass
class _Told:
    """What happened in the episode so far."""

    steps: list[tuple[Action, Observation]] = field(default_factory=list)
    done: list[Hashable] = field(default_factory=list)
    note: str = ""
    usage: Usage = field(default_factory=Usage)


class WorldModel:
    """One episode at a task, in a world that `model` makes up; `recorded` are real steps to take examples from.

    Implements Environment, OwnTime and KeepsNote. Calls are answered one at a time, whatever thread they come from.
    """

    def __init__(self, model: Completer, task_id: str, instruction: str, recorded: RecordedSteps) -> None:
        self._model, self._task_id, self._instruction, self._recorded = model, task_id, instruction, recorded
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._answers: SimpleQueue[Future[ChatReply] | None] = SimpleQueue()
        self._told = _Told()
        self._clock: tuple[float, float | None] = (0.0, None)

    @property
    def state_note(self) -> str:
        """The model's note on the state, as its last reply left it."""
        return self._told.note

    @property
    def usage(self) -> Usage:
        """What the model used in this episode, for replies that were no good too."""
        return self._told.usage

    def taken_s(self) -> float:
        """Give the seconds that the model took so far, with tries that gave nothing and what it still takes."""
        taken, since = self._clock
        return taken if since is None else taken + time.monotonic() - since

    def execute(self, action: Action) -> Observation:
        """Give what the model says of the call. What is wrong with the call itself needs no model to be told.

        Raises Transient (75) where no try gave a valid reply, or `close` came first; what the model raises.
        """
        if problem := call_problem(action):
            return Observation(content=problem, is_error=True)
        with self._turn:
            told = self._told
            examples = self._recorded.nearest(self._task_id, told.done, action, EXAMPLES)
            scene = Scene(self._instruction, self._task_id, told.note, told.steps, examples, action)
            with self._taking_time():
                prediction = self._predict(world_request(scene), action)
            observation = Observation(
                content=clipped(prediction.content, CONTENT_CHARACTERS),
                is_error=prediction.is_error,
                truncated=len(prediction.content) > CONTENT_CHARACTERS,
            )
            told.steps.append((action, observation))
            told.done.append(call_key(action))
            told.note = clipped(prediction.state_note, NOTE_CHARACTERS)
            return observation

    def close(self) -> None:
        """Wait for the model no longer: a call in progress raises."""
        self._closed.set()
        self._answers.put(None)

    @contextmanager
    def _taking_time(self) -> Iterator[None]:
        """Run the clock. It is one value, so that who reads it in between never sees it go back."""
        taken, begun = self._clock[0], time.monotonic()
        self._clock = (taken, begun)
        try:
            yield
        finally:
            self._clock = (taken + time.monotonic() - begun, None)

    def _predict(self, request: ChatRequest, action: Action) -> Prediction:
        problem = ""
        for _ in range(TRIES):
            reply = self._ask(request)
            self._told.usage = self._told.usage.plus(reply.usage.model_copy(update={"calls": 1}))
            try:
                return read_prediction(reply)
            except BadReply as error:
                problem = str(error)
                request = asked_again(request, reply, problem)
        raise Transient(
            f"the world model gave no valid reply to a call of '{action.name}' in {TRIES} tries; the last: {problem}"
        )

    def _ask(self, request: ChatRequest) -> ChatReply:
        """Ask in a thread of its own, so that `close` ends the wait: a completion itself cannot be called off."""
        if self._closed.is_set():
            raise Transient(NOT_ANSWERED)
        answer: Future[ChatReply] = Future()
        context = contextvars.copy_context()  # who listens to the model's troubles does so in this thread

        def ask() -> None:
            try:
                answer.set_result(context.run(self._model.complete, request))
            except BaseException as error:  # noqa: BLE001  raised again by who waits
                answer.set_exception(error)
            self._answers.put(answer)

        threading.Thread(target=ask, name="world-model", daemon=True).start()
        first = self._answers.get()
        if first is None:
            raise Transient(NOT_ANSWERED)
        return first.result()
