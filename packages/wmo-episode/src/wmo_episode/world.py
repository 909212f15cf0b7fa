"""A world model for one episode: the role's provider, its exchanges kept, its failures as the host's own."""

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.exchanges import ExchangesDocument
from wmo_kit.errors import Missing, Transient
from wmo_models.deadline import HangUp
from wmo_models.provider import Provider, ProviderError
from wmo_models.recording import RecordingProvider
from wmo_suites.nearest import RecordedSteps
from wmo_suites.world_model import WorldModel

REFUSED = (
    "; it answers others and refuses this request, and so it will again: have a model with a larger context, or one "
    "that takes it, play the role 'world', in a new run"
)


class PlayedWorld(WorldModel):
    """One episode's world, played by `provider`. What was asked and answered is kept for `exchanges`."""

    def __init__(self, provider: Provider, task_id: str, instruction: str, recorded: RecordedSteps) -> None:
        self._recorder, self._line = RecordingProvider(provider), HangUp()
        super().__init__(_Failing(self._recorder, self._line), task_id, instruction, recorded)

    def close(self) -> None:
        """Wait for the model no longer, and hang up on it: an endpoint with one slot would go on with the reply."""
        super().close()
        self._line.ask()

    def exchanges(self) -> ExchangesDocument:
        """Give what was asked of the world model so far."""
        return self._recorder.document()


class _Failing:
    """Turns a provider's failures into the host's: nothing that the world model fails at is the agent's doing."""

    def __init__(self, provider: Provider, line: HangUp) -> None:
        self._provider, self._line = provider, line

    def complete(self, request: ChatRequest) -> ChatReply:
        """Give the reply. Raises Transient where the model failed for now, else Missing."""
        try:
            with self._line.covering():
                return self._provider.complete(request)
        except ProviderError as error:
            kind = Transient if error.transient else Missing
            advice = REFUSED if error.fault == "request" else ""
            raise kind(f"the world model failed: {error}{advice}") from error
