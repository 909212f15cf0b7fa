"""Where attacks are tried for real: episodes of hostile candidates, with an honest trial beside them.

A hostile candidate tells what it found as the last line of its stderr, which becomes the episode's note.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import alive, command_lines, descendants
from wmo_contracts.chat import ChatReply, ToolCall
from wmo_contracts.episode import EpisodeResult, Limits, Observation
from wmo_episode.kit_runtime import KitRuntime
from wmo_episode.runtime import PiRuntime
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.tool_policy import tool_specs
from wmo_suites.held_box import BoxLimits, held_box

INDEX = "src/index.ts"
SECRET = "sk-attack-5b1f0c77e2"
TOOLS = tuple(tool_specs(["bash", "submit"]))
VENDOR = find_vendor_dir(None, Path(__file__))
NODE = """
import { spawn } from "node:child_process"; import fs from "node:fs";
import net from "node:net"; import http from "node:http";
const say = (found: any) => { fs.writeSync(2, "\\n" + JSON.stringify(found)); process.exit(3); };
const pause = (ms: number) => new Promise((go) => setTimeout(go, ms));
const url = process.env.PI_SHIM_URL!, token = process.env.PI_SHIM_TOKEN!;
const ask = async (method: string, path: string, body?: any, key = token) => {
  const headers: any = { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() as any };
};
"""
PYTHON = """
import json, mmap, os, socket, subprocess, sys, time
def say(found):
    os.write(2, b"\\n" + json.dumps(found).encode())
    os._exit(3)
def run(kit):
"""


class Submits:
    """A model that submits at once."""

    def complete(self, _request: Any) -> ChatReply:
        call = ToolCall(id="c", name="submit", arguments=json.dumps({"answer": "x"}))
        return ChatReply(content=None, tool_calls=(call,), finish_reason="tool_calls", model="scripted")


class Nothing:
    """An environment where nothing happens."""

    def execute(self, _action: Any) -> Observation:
        return Observation(content="")

    def close(self) -> None:
        pass


def play_pi(work: Path, code: str = "", *, environment: Any = None, timeout_s: float = 60.0) -> EpisodeResult:
    """Play an episode of pi with `code`, after NODE, before its own index; "" for an honest one."""
    edits = {INDEX: NODE + code + "\n" + seed_tree(VENDOR).as_mapping()[INDEX]} if code else {}
    runtime = PiRuntime(
        Submits(),
        files=SourceTree.from_mapping(seed_tree(VENDOR).as_mapping() | edits),
        tools=TOOLS,
        system="You act.",
        runtime=VENDOR / "runtime",
        limits=Limits(timeout_s=timeout_s),
        work=work,
    )
    return runtime.run("t", "Go.", environment or Nothing())


def play_kit(work: Path, body: str, *, environment: Any = None, timeout_s: float = 60.0) -> EpisodeResult:
    """Play an episode of a kit-python candidate whose run(kit) is `body`, after PYTHON."""
    source = PYTHON + "\n".join(f"    {line}" for line in body.strip().splitlines()) + "\n"
    runtime = KitRuntime(
        Submits(),
        SourceTree.from_mapping({"SYSTEM.md": "You act.", "runtime.py": source}),
        TOOLS,
        "You act.",
        limits=Limits(timeout_s=timeout_s, max_model_calls=40),
        work=work,
    )
    return runtime.run("t", "Go.", environment or Nothing())


def told(result: EpisodeResult) -> Any:
    """Give what a hostile candidate said that it found."""
    assert result.stop_reason == "error", result.note
    return json.loads(result.note.rpartition("\n")[2])


@contextmanager
def beside(work: Path) -> Iterator[None]:
    """Play an honest episode meanwhile, and see that it is unharmed and nothing of either is left running."""
    folder = work / "honest"
    folder.mkdir()
    before = below()
    results: list[EpisodeResult] = []
    honest = threading.Thread(target=lambda: results.extend(play_pi(folder) for _ in range(2)))
    honest.start()
    yield
    honest.join()
    assert [(result.stop_reason, result.answer) for result in results] == [("submitted", "x")] * 2
    assert list(folder.iterdir()) == []
    nothing_left(before)


def below() -> dict[int, str]:
    """Give what runs below us and stays: the helper of private networks, once it is started."""
    with held_box(["true"], binds=(), chdir="/", env={}, limits=BoxLimits(), port=1, cap_bytes=1, grace_s=1.0) as box:
        box.child.wait(10)
    return descendants(os.getpid())


def nothing_left(before: dict[int, str]) -> None:
    """Wait until no process below us runs that did not run `before`."""
    wait_for(lambda: not alive(set(descendants(os.getpid())) - set(before)))


def wait_for(condition: Callable[[], bool], seconds: float = 15) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, command_lines(descendants(os.getpid()))
        time.sleep(0.02)
