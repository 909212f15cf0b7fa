"""Node processes that are ready before their episode is known: started, in their boxes, pi's libraries loaded.

Each serves one episode and dies, so no state crosses from one to another. The candidate's files are put into its folder
when it is taken: by then its box is long closed, and nothing of any candidate has run in it.
"""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from wmo_harness.source_tree import SourceTree
from wmo_kit.errors import Missing

from wmo_episode.layout import node_folder, write_harness
from wmo_episode.node_interpreter import Node
from wmo_episode.runner import Agent, Runner

WAIT = {"PI_WAIT": "1"}
"""Tells entry.ts to warm up and to wait for the end of its standard input."""
EMPTY = SourceTree.from_files(())


@dataclass(frozen=True)
class _Ready:
    agent: Agent
    stack: ExitStack


class WarmPool:
    """Keeps up to `size` processes ready for `command`, as long as `episodes` are still to come; a context.

    `runtime` and `work` are as in PiRuntime. It begins with the first episode, which it has nothing for. Boxes die with
    the thread that started them, so one thread of the pool's own starts them all and stays until the end.
    """

    def __init__(
        self, runtime: Path, command: Sequence[str], *, size: int, episodes: int, work: Path | None = None
    ) -> None:
        self._node, self._command, self._work = Node(runtime), tuple(command), work
        self._size, self._to_come = size, episodes
        self._ready: deque[_Ready] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._starter: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Give the pool itself; nothing is started yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End every process that was not taken, and the boxes of those that were."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._starter is not None:
            self._starter.join()

    @contextmanager
    def take(self, tree: SourceTree) -> Iterator[Agent | None]:
        """Give a ready process with the candidate `tree` in its folder, as Runner.started does; None for none.

        Raises OSError where the files cannot be written.
        """
        ready = self._next()
        if ready is None:
            yield None
            return
        with ready.stack:
            write_harness(ready.agent.process.folder, tree)
            yield ready.agent

    def _next(self) -> _Ready | None:
        with self._changed:
            self._to_come -= 1
            if self._starter is None:
                self._starter = threading.Thread(target=self._keep_full, name="warm-pool", daemon=True)
                self._starter.start()
            self._changed.notify()
            while self._ready:
                ready = self._ready.popleft()
                if ready.agent.process.child.process.poll() is None:
                    return ready
                ready.stack.close()  # it died while it waited
        return None

    def _keep_full(self) -> None:
        """Start processes until the pool is closed, then end those that nobody took."""
        with suppress(Missing, OSError):  # episodes then start their own, and say what is wrong
            while self._wait_for_room():
                ready = self._start()
                with self._changed:
                    self._ready.append(ready)
        with self._changed:
            self._changed.wait_for(lambda: self._closed)
            left = list(self._ready)
            self._ready.clear()
        for ready in left:
            ready.stack.close()

    def _wait_for_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._ready) < min(self._size, self._to_come))
            return not self._closed

    def _start(self) -> _Ready:
        with ExitStack() as stack:
            folder = stack.enter_context(node_folder(EMPTY, self._node.modules("bwrap"), self._work))
            runner = Runner(self._node, "bwrap")
            agent = stack.enter_context(runner.started(self._command, folder, env=WAIT))
            return _Ready(agent, stack.pop_all())
