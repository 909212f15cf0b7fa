"""A trial played again from its folder: the recorded replies stand in for the model, so it costs nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.episode import EpisodeResult
from wmo_contracts.exchanges import ExchangesDocument
from wmo_episode.documents import Episode, read_episode
from wmo_episode.replay import RecordedTools, compare, verdict
from wmo_episode.runtime import EpisodeCancelled
from wmo_episode.runtimes import runtime_for, vendored_runtime
from wmo_harness.surfaces import parse_tree
from wmo_kit.config import load_config
from wmo_kit.documents import emit, read_json_part
from wmo_kit.errors import Missing, Negative, Usage
from wmo_kit.log import Log
from wmo_kit.stopping import deferred_signals
from wmo_models.recording import EXCHANGES
from wmo_models.replay import ReplayProvider
from wmo_suites.environment import Environment

from wmo_shim.environments import open_sandbox

EPISODE, RESULT = "episode.json", "wmo-run.json"


@dataclass(frozen=True)
class Record:
    """What a trial's folder holds of its episode."""

    episode: Episode
    exchanges: ExchangesDocument
    result: EpisodeResult


def play_again(
    log: Log,
    trial: Path,
    source: Path | None,
    *,
    tools: str | None,
    port: int,
    vendor: Path | None,
    command: Sequence[str],
) -> None:
    """Play the trial in the folder `trial` again and print its result; `source` is a harness in place of its own.

    `tools` "real" runs the tool calls, "recorded" answers them from the record; None is real where they were real then.
    Without `command`, the harness's own agent plays. Raises Negative, after the result, where anything but timings is
    not as recorded; Usage for real tools where there were none; BadDocument, Missing, OSError, and what the sandbox
    raises by failing itself.
    """
    record = _read(trial, source)
    real_tools = _real_tools(record, tools)
    provider = ReplayProvider(record.exchanges)
    document, files = record.episode.document, record.episode.files
    configured = load_config(flags={"vendor": vendor}).vendor
    vendored = vendored_runtime(parse_tree(files).runtime_kind, configured, document.environment.mode)
    agent = runtime_for(document, files, provider, vendored, port=port)
    with deferred_signals() as stop, _environment(record, provider, real_tools=real_tools) as environment:
        try:
            with stop.calling(environment.close):
                task = document.task
                result = agent.run(task.id, task.instruction, environment, command=command or None, cancel=stop.event)
        except EpisodeCancelled as cancelled:
            emit(cancelled.partial)
            raise
    replay = compare(provider, record.result, result)
    emit(result.model_copy(update={"replay": replay}))
    if replay.outcome != "same":
        raise Negative(verdict(replay))
    log.say("same", verdict(replay), completions=replay.served)


def _read(trial: Path, source: Path | None) -> Record:
    """Read a trial's folder. Raises Missing where it is none, BadDocument, OSError."""
    for name in (EPISODE, EXCHANGES, RESULT):
        if not (trial / name).is_file():
            raise Missing(
                f"no '{trial / name}': name the folder of a trial that an agent with a model played, such as "
                f"RUN/candidates/candidate-0000/trials/TASK/attempt-1; one made before {EXCHANGES} was kept has none"
            )
    exchanges = read_json_part(trial / EXCHANGES, ExchangesDocument)
    result = read_json_part(trial / RESULT, EpisodeResult)
    return Record(read_episode(str(trial / EPISODE), source), exchanges, result)


def _real_tools(record: Record, asked: str | None) -> bool:
    """Say whether tool calls are to be run. Raises Usage where they are wanted and were never real."""
    kind = record.episode.document.environment.kind
    if kind == "sandbox":
        return asked != "recorded"
    if asked == "real":
        raise Usage(f"'--tools real' needs a workspace, and this trial had none ('{kind}'): leave it out")
    return False


@contextmanager
def _environment(record: Record, provider: ReplayProvider, *, real_tools: bool) -> Iterator[Environment]:
    if not real_tools:
        yield RecordedTools(record.result.steps, provider.depart)
        return
    with open_sandbox(record.episode) as sandbox:
        yield sandbox
