"""`python -m local_model`: serve the small model, play real episodes of the pi seed with it, print what came of it."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from wmo_kit.cli import entry
from wmo_kit.errors import Usage, WmoError
from wmo_kit.stopping import deferred_signals

from local_model.served import served
from local_model.summary import NO_RESULT, Episode, read_episodes

BIN = Path(sys.executable).parent
HERE = Path(__file__).parent
PYTHON = Path(".local-model/bin/python")
SUITE = Path("suites/starter")
MODEL = "smollm2-135m-instruct"
TASKS = ("fix-script", "permissions", "write-program")
SERVER_LOG = "server.log"
"""Also tells that a folder is ours to replace."""
LIMITS = {"max_turns": 8, "max_output_tokens": 512}
"""The seed's own are 20 and 4096: at this model's speed, minutes of babble for each reply."""


class ToolFailed(WmoError):
    """A tool of ours ended with this exit code; it has said why itself."""

    def __init__(self, tool: str, code: int) -> None:
        super().__init__(f"'{tool}' ended with {code}")
        self.code = code


@click.command("run-local-model")
@click.option("--task", "tasks", multiple=True, default=TASKS, show_default=True, help="A task; may be repeated.")
@click.option("--keep", type=click.Path(path_type=Path), default=Path("runs/local-model"), show_default=True,
              help="Where the episodes are kept; what an earlier call left there is removed.")  # fmt: skip
@click.option("--context", type=click.IntRange(256), default=8192, show_default=True, help="The server's, in tokens.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="The server's.")
def main(tasks: Sequence[str], keep: Path, context: int, threads: int) -> None:
    """Play episodes of the pi seed with the small local model; exit 0 where each one ended with a typed reason."""
    make_room(keep)
    harness = keep / "harness.json"
    harness.write_text(seed(keep / "harness", LIMITS), "utf-8")
    key = secrets.token_urlsafe(16)
    sizes = [f"--context={context}", f"--threads={threads}"]
    server = [str(PYTHON), str(HERE / "server.py"), "--model", MODEL, "--key", key, *sizes]
    with served(server, keep / SERVER_LOG) as url:
        print(f"serving '{MODEL}' at {url}", file=sys.stderr)
        model = {"WMO_BASE_URL": url, "WMO_MODEL": MODEL, "WMO_API_KEY": key}
        named = [word for task in tasks for word in ("--task", task)]
        options = ["--suite", str(SUITE), *named, "--jobs", "1", "--keep", str(keep), "-o", str(keep / "report.json")]
        code = score([str(harness), *options], model)
    episodes = read_episodes(keep)
    show(episodes, keep)
    if code != 0 or len(episodes) != len(tasks) or any(one.stop_reason == NO_RESULT for one in episodes):
        raise ToolFailed("wmo-score", code or 1)


def make_room(keep: Path) -> None:
    """Make a folder with an empty server log, in place of an earlier call's. Raises Usage for one that is not ours."""
    if keep.exists() and any(keep.iterdir()):
        if not (keep / SERVER_LOG).exists():
            raise Usage(f"'{keep}' holds something else: name another folder with '--keep'")
        shutil.rmtree(keep)
    keep.mkdir(parents=True, exist_ok=True)
    (keep / SERVER_LOG).touch()


def seed(folder: Path, limits: Mapping[str, int]) -> str:
    """Write the pi seed into `folder` with other limits in its config.toml, and give its document as text."""
    tool("wmo-materialize", "--into", str(folder), given=tool("wmo-vendor", "tree"))
    config = folder / "config.toml"
    lines = config.read_text("utf-8").splitlines()
    named = {line.partition("=")[0].strip(): line for line in lines}
    named |= {name: f"{name} = {value}" for name, value in limits.items()}
    config.write_text("\n".join(named.values()) + "\n", "utf-8")
    return tool("wmo-materialize", "--snapshot", str(folder), "--name", "pi")


def tool(*argv: str, given: str = "") -> str:
    """Run a tool of ours, `given` on its standard input, and give what it prints."""
    done = subprocess.run([BIN / argv[0], *argv[1:]], check=False, input=given, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ToolFailed(argv[0], done.returncode)
    return done.stdout


def score(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run wmo-score and give its exit code. A signal is passed on and waited for: it ends its episodes itself."""
    with deferred_signals() as stop:
        process = subprocess.Popen([BIN / "wmo-score", *arguments], env={**os.environ, **environment})
        with stop.calling(process.terminate):
            return process.wait()


def show(episodes: Sequence[Episode], keep: Path) -> None:
    """Print the episodes for people."""
    table = Table(title="episodes with a real, very small model", caption=f"all of it: {keep}")
    for name in ("task", "ended as", "steps", "model calls", "replies ended by", "tool calls", "tokens in (cached)",
                 "tokens out", "out/s", "reward"):  # fmt: skip
        table.add_column(name)
    for one in episodes:
        speed = f"{one.completion_tokens / one.model_s:.0f}" if one.model_s else "-"
        tokens_in = f"{one.prompt_tokens:,} ({one.cached_tokens:,})"
        reward = "-" if one.reward is None else f"{one.reward:g}"
        calls = (str(one.calls), one.finish_reasons, str(one.tool_calls))
        table.add_row(
            one.task, one.stop_reason, str(one.steps), *calls, tokens_in, f"{one.completion_tokens:,}", speed, reward
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    for one in episodes:
        print(f"{one.task}: {one.note or one.stop_reason}")


if __name__ == "__main__":
    entry(main)()
