"""What answers an agent's tools."""

from typing import Protocol, runtime_checkable

from wmo_contracts.episode import Action, Observation


class Environment(Protocol):
    """A place that an agent acts in: a sandbox, a world model, a recording."""

    def execute(self, action: Action) -> Observation:
        """Carry out one tool call. What the agent did wrong is an error observation, never an exception."""
        ...

    def close(self) -> None:
        """End everything that runs there. A second call does nothing."""
        ...


@runtime_checkable
class OwnTime(Protocol):
    """An Environment that takes time which is not the agent's: how fast a simulator is says nothing of an agent."""

    def taken_s(self) -> float:
        """Give the seconds that answering took so far, those of a call in progress too. From any thread."""
        ...


@runtime_checkable
class KeepsNote(Protocol):
    """An Environment with a note on its state, which a real place does not need. Every step keeps it."""

    @property
    def state_note(self) -> str:
        """The note as it is now: before the next call."""
        ...
