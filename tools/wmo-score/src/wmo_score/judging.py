"""A judge in the verifier's place: it is asked, its verdict is kept as evidence, and is told without what it is about.

A cell's note goes to proposers, who must not know the assertions: it gives their numbers, judge/verdict.json the rest.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wmo_contracts.chat import ChatReply, ChatRequest
from wmo_contracts.episode import EpisodeResult, Usage
from wmo_contracts.verdict import VerdictDocument
from wmo_kit.atomic import write_text_atomic
from wmo_kit.config import Config
from wmo_kit.errors import Cancelled, Missing, Transient
from wmo_kit.log import Log
from wmo_kit.stopping import Stop
from wmo_models.endpoint import open_provider
from wmo_models.provider import Provider, ProviderError
from wmo_models.recording import EXCHANGES, RecordingProvider
from wmo_population.durable import make_directory
from wmo_population.trials import JUDGE, VERDICT
from wmo_suites.judge import judge_episode
from wmo_suites.judge_verdict import count_assertions, refused_verdict
from wmo_suites.task import Task
from wmo_suites.verifier import Verdict

from wmo_score.matrix import Trial


@dataclass(frozen=True)
class Judge:
    """The judge of all trials. Safe to use from many threads."""

    provider: Provider
    log: Log

    def verdict(
        self, task: Task, trial: Trial, result: EpisodeResult, folder: Path, stop: Stop
    ) -> tuple[Verdict, Usage]:
        """Have an episode judged, the evidence kept in `folder`/judge; give the verdict and what the judge used.

        A judge that is well and refuses this one request, say for its length, passes nothing, with a warning: no call
        that comes later would end otherwise. Raises Transient (75) where the judge failed for now, Missing (69) where
        it refuses to work, Cancelled where `stop` came first, BadDocument, OSError.
        """
        started = time.monotonic()
        recorder = RecordingProvider(self.provider)
        place = folder / JUDGE
        make_directory(place, inside=folder)
        try:
            document, usage = judge_episode(task, result, _Leaving(recorder, stop))
        except ProviderError as error:
            if error.fault != "request":
                kind = Transient if error.transient else Missing
                raise kind(f"the judge failed: {error}") from error
            document, usage = refused_verdict(task.assertions or (), str(error)), Usage()
            self.log.say("warning", f"'{trial}': {document.note}", trial=str(trial))
        finally:
            write_text_atomic(place / EXCHANGES, recorder.document().to_text())
        write_text_atomic(place / VERDICT, document.to_text())
        seconds = time.monotonic() - started
        reward = 1.0 if document.passed else 0.0
        verdict = Verdict(reward, count_assertions(document), verdict_note(document), timings={"judge": seconds})
        return verdict, usage


@dataclass(frozen=True)
class _Leaving:
    """A model whose answer is no longer waited for once a stop is asked for."""

    model: Provider
    stop: Stop

    def complete(self, request: ChatRequest) -> ChatReply:
        replies: list[ChatReply] = []
        errors: list[Exception] = []
        over = threading.Event()

        def ask() -> None:
            try:
                replies.append(self.model.complete(request))
            except Exception as error:  # noqa: BLE001  raised below, in the thread that waits
                errors.append(error)
            over.set()

        with self.stop.calling(over.set):
            threading.Thread(target=ask, daemon=True).start()
            over.wait()
        if errors:
            raise errors[0]
        if not replies:
            raise Cancelled("the judge's answer was not waited for")
        return replies[0]


@contextmanager
def open_judge(config: Config, log: Log) -> Iterator[Judge]:
    """Give the judge of the configuration while the context lasts. Raises Missing, Conflict."""
    with open_provider(config, "judge", log) as provider:
        yield Judge(provider, log)


def verdict_note(document: VerdictDocument) -> str:
    """Say by their numbers which assertions failed, and what was wrong with the judge's reply; "" where nothing."""
    failed = [str(number) for number, one in enumerate(document.assertions, 1) if not one.passed]
    parts = [f"failed assertions: {', '.join(failed)} of {len(document.assertions)}"] if failed else []
    return "; ".join([*parts, *filter(None, [document.note])])
