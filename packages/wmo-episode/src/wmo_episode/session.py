"""One episode's state behind the shim: what the agent may do, what it did, and the host's view of the last completion.

The agent's process calls in from many threads at once; budget, step list and environment are serialised here.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wmo_contracts.chat import ChatRequest
from wmo_contracts.episode import Action, Limits, Observation, Skill, Step, ToolSpec, Usage
from wmo_harness.tool_policy import READ_SKILL, SUBMIT
from wmo_kit.bell import Bell
from wmo_models.deadline import HangUp, HungUp
from wmo_models.provider import Provider, ProviderError
from wmo_models.trouble import Trouble, listening
from wmo_suites.environment import Environment, KeepsNote, OwnTime

from wmo_episode.patience import Patience
from wmo_episode.wire import Answer, BadRequest, read_reply, tool_arguments

BUDGET_EXHAUSTED = "environment action budget exhausted"
EPISODE_OVER = "the episode is over"
CALLS_TOO_LARGE = "the call was not executed: the episode's tool calls are larger than 32 MiB in all"
MAX_STEPS = 1000
"""Steps kept: an agent that hammers /tool past its budget must not grow the result without bound."""
MAX_STEPS_SIZE = 32 << 20
"""Characters of the calls that are taken, arguments and observations: all of them are memory of ours, and evidence."""


class BudgetSpent(Exception):
    """A completion above the episode's limit was asked for, which has ended the episode."""


class HostFailed(Exception):
    """The model client or the environment broke; the session keeps what it raised, for the runtime to raise."""


@dataclass(frozen=True)
class Brief:
    """What the agent is told and given: one task under one harness."""

    task_id: str
    instruction: str
    system: str
    tools: tuple[ToolSpec, ...]
    skills: tuple[Skill, ...]
    limits: Limits

    def to_json(self) -> dict[str, Any]:
        """Give the body of GET /task. `context_window` is null where the configuration names none.

        Skills are there by name and description: their text is read with the tool read_skill.
        """
        return {
            "instruction": self.instruction,
            "system": self.system,
            "max_turns": self.limits.max_turns,
            "max_output_tokens": self.limits.max_output_tokens,
            "context_window": self.limits.context_window,
            "tools": [tool.model_dump(mode="json") for tool in self.tools],
            "skills": [{"name": skill.name, "description": skill.description} for skill in self.skills],
        }


@dataclass(frozen=True)
class Done:
    """What the agent said when it ended. `note` explains a reason that is no submission."""

    answer: str
    reason: str
    note: str = ""


class Session:
    """One episode. Every method may be called from any thread."""

    def __init__(self, brief: Brief, provider: Provider, environment: Environment) -> None:
        self.brief = brief
        self.ended = Bell()
        """Set when nothing more is wanted from the agent: it is done, or the host failed."""
        self._provider, self._environment = provider, environment
        self._lock = threading.Lock()
        self._environment_turn = threading.Lock()
        self._closed = False
        self._steps: list[Step] = []
        self._actions = 0
        self._steps_size = 0
        self._usage = Usage()
        self._completions = 0
        self._last: Answer | None = None
        self._tool_call_turns = 0
        self._provider_error: ProviderError | None = None
        self._done: Done | None = None
        self._failure: Exception | None = None
        self._moments: dict[str, float] = {}
        self._spent = {"model": 0.0, "tools": 0.0}
        self._asking = 0
        self._lost_s = 0.0
        self._line = HangUp()

    def task(self) -> dict[str, Any]:
        """Give the body of GET /task."""
        self._mark("task")
        return self.brief.to_json()

    def complete(self, request: ChatRequest) -> tuple[Answer, int]:
        """Ask the model. Gives what the agent may see and the completion's number, counted from 1.

        Raises ProviderError, HostFailed and, with the episode ended, BudgetSpent. The first ProviderError ends the
        agent's access to the model: a later answer could not make the episode a submission any more, so it is not
        bought. One that is not the request's own fault ends the episode.
        """
        self._mark("completion")
        with self._lock:
            if self._provider_error is not None:
                raise self._provider_error
            allowed = self.brief.limits.model_calls
            if self._completions >= allowed:
                raise BudgetSpent(self._spend(f"all {allowed} model calls"))
            self._completions += 1
            number = self._completions
        try:
            with self._spending("model"), self._waiting():
                answer = read_reply(self._provider.complete(request))
        except ProviderError as error:
            with self._lock:
                self._provider_error = error
            if error.fault != "request":
                self.ended.set()
            raise
        except HungUp as error:
            raise HostFailed(EPISODE_OVER) from error
        except Exception as error:
            self.fail(error)
            raise HostFailed("the model client failed") from error
        with self._lock:
            self._usage = self._usage.plus(answer.usage.model_copy(update={"calls": 1}))
            self._last = answer
            self._tool_call_turns += bool(answer.tool_calls)
        return answer, number

    def act(self, name: str, arguments: Any) -> Observation:
        """Answer one tool call and keep it as a step. `arguments` is an object or the JSON text of one.

        Raises HostFailed where the environment itself failed, which also ends the episode.
        """
        with self._environment_turn:
            if self._closed or self._done is not None:
                return _error(EPISODE_OVER)
            size = len(name) + len(json.dumps(arguments))
            if self._steps_size + size > MAX_STEPS_SIZE:
                return _error(CALLS_TOO_LARGE)
            action = Action(kind="tool", name=name)
            note = self._environment.state_note if isinstance(self._environment, KeepsNote) else ""
            try:
                action = Action(kind="tool", name=name, arguments=tool_arguments(arguments))
                observation = self._observe(action)
            except BadRequest as error:
                observation = _error(f"the call of '{name}' was not executed: {error}")
            if len(self._steps) < MAX_STEPS:
                self._steps_size += size + len(observation.content)
                task_id = self.brief.task_id
                self._steps.append(Step(action=action, observation=observation, state_before=note, task=task_id))
            return observation

    def signal(self) -> dict[str, Any]:
        """Give the body of GET /signal: the host's view of the last completion."""
        with self._lock:
            return {
                "finish_reason": self._last.finish_reason if self._last else None,
                "unparsed_tool_calls": self._last.withheld if self._last else 0,
                "provider_error": None if self._provider_error is None else str(self._provider_error),
                "tool_call_turns": self._tool_call_turns,
            }

    def finish(self, done: Done) -> None:
        """Take the agent's word that it is done. Only the first counts; nothing can be done after it."""
        self._mark("done")
        with self._lock:
            if self._done is None:
                self._done = done

    def fail(self, error: Exception) -> None:
        """Remember a failure of the host's own; the runtime raises it. Only the first counts."""
        with self._lock:
            self._failure = self._failure or error
        self.ended.set()

    def close(self, patience: Patience) -> None:
        """Refuse every further action and wait for the one in progress.

        One that outlasts `patience` loses its environment, which ends it.
        """
        with self._lock:
            self._closed = True
        if not patience.wait(lambda seconds: self._environment_turn.acquire(timeout=seconds)):
            self._environment.close()  # ends what runs in it, and so the action
            self._environment_turn.acquire()
        self._environment_turn.release()

    def hang_up(self) -> None:
        """Ask the model nothing more, and end what it is being asked."""
        self._line.ask()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The actions so far, in the order in which the environment took them."""
        return tuple(self._steps)

    @property
    def usage(self) -> Usage:
        """What the model used so far."""
        return self._usage

    @property
    def done(self) -> Done | None:
        """What the agent said when it ended, if it did."""
        return self._done

    @property
    def provider_error(self) -> ProviderError | None:
        """The model failure of this episode, if there was one."""
        return self._provider_error

    @property
    def unanswered(self) -> bool:
        """Whether the model is being asked."""
        return self._asking > 0

    def lost_s(self) -> float:
        """Give the seconds that are not the agent's own, up to now.

        They are those of failed tries of its model with the waits for the next, and all that a world model takes.
        """
        return self._lost_s + (self._environment.taken_s() if isinstance(self._environment, OwnTime) else 0.0)

    @property
    def failure(self) -> Exception | None:
        """The host's own failure, if there was one."""
        return self._failure

    def spent(self) -> dict[str, float]:
        """Give the seconds spent in `model` and `tools`."""
        return {phase: round(seconds, 4) for phase, seconds in self._spent.items()}

    def moments(self) -> dict[str, float]:
        """Give when /task, the first completion and /done came (time.monotonic()); what never came is absent."""
        return dict(self._moments)

    def _observe(self, action: Action) -> Observation:
        spec = next((tool for tool in self.brief.tools if tool.name == action.name), None)
        if spec is None:
            known = ", ".join(tool.name for tool in self.brief.tools)
            return _error(f"unknown tool '{action.name}': known are {known}")
        if spec.name == SUBMIT:
            return _error("'submit' ends the episode: it is answered by the agent's runtime, which posts to /done")
        _check_arguments(spec, action.arguments)
        if spec.name == READ_SKILL:
            return self._read_skill(action.arguments["name"])
        if self._actions >= self.brief.limits.max_env_actions:
            if self.brief.limits.max_model_calls is not None:
                with self._lock:
                    self._spend(f"all {self._actions} environment actions")
            return _error(BUDGET_EXHAUSTED)
        self._actions += 1
        try:
            with self._spending("tools"):
                return self._environment.execute(action)
        except Exception as error:
            self.fail(error)
            raise HostFailed("the environment failed") from error

    def _spend(self, what: str) -> str:
        """End the episode as "budget", under the lock, unless it is done; give the note."""
        note = f"the agent used {what} and asked for one more"
        self._done = self._done or Done("", "budget", note)
        self.ended.set()
        return note

    def _read_skill(self, name: str) -> Observation:
        for skill in self.brief.skills:
            if skill.name == name:
                return Observation(content=skill.content)
        known = ", ".join(skill.name for skill in self.brief.skills)
        return _error(f"unknown skill '{name}': known are {known}")

    def _mark(self, name: str) -> None:
        self._moments.setdefault(name, time.monotonic())

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Count a completion as asked for, and what the endpoint's troubles cost as lost."""
        with self._lock:
            self._asking += 1
        try:
            with listening(self._lose), self._line.covering():
                yield
        finally:
            with self._lock:
                self._asking -= 1

    def _lose(self, trouble: Trouble) -> None:
        with self._lock:
            self._lost_s += trouble.spent_s + trouble.wait_s

    @contextmanager
    def _spending(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._spent[phase] += time.monotonic() - started


def _error(text: str) -> Observation:
    return Observation(content=text, is_error=True)


def _check_arguments(spec: ToolSpec, arguments: dict[str, Any]) -> None:
    """Raise BadRequest where a required argument is missing or is no string: every argument of a tool is one."""
    for key in spec.parameters.get("required", []):
        if not isinstance(arguments.get(key), str):
            raise BadRequest(f"argument '{key}' must be a string")
