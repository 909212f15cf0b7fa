"""Command line of wmo-shim."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.log import Log

EXAMPLE = """\b
Examples:
  wmo-shim --episode episode.json -- node --experimental-strip-types entry.ts > result.json
  wmo-shim --episode episode.json      # prints its URL and token on stderr; now be the agent:
    curl -H "Authorization: Bearer $TOKEN" $URL/task
    curl -H "Authorization: Bearer $TOKEN" $URL/tool -d '{"name": "bash", "arguments": {"command": "ls"}}'
    curl -H "Authorization: Bearer $TOKEN" $URL/done -d '{"answer": "done", "reason": "submit"}'
"""


@click.command("wmo-shim", epilog=EXAMPLE, context_settings={"allow_interspersed_args": False})
@click.option("--episode", required=True, metavar="FILE", help="The wmo.episode/1 document, - for stdin.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", help="Port on loopback.")
@click.option("--vendor", type=click.Path(path_type=Path), help="The vendor directory.")
@click.argument("agent", nargs=-1, metavar="[--] [COMMAND...]")
@common_options("wmo-shim")
@click.pass_obj
def shim(log: Log, /, episode: str, port: int, vendor: Path | None, agent: tuple[str, ...]) -> None:
    """Serve one episode to an agent process; print wmo.episode-result/1.

    COMMAND is the agent. It runs in a folder made for it, with entry.ts, the harness and node_modules in it, node first
    on its PATH, and PI_SHIM_URL and PI_SHIM_TOKEN in its environment. Without COMMAND, one line says where the shim
    is, and it serves until somebody posts to /done (or Ctrl-C). The tools act on a copy of the task's workspace.
    """
    from wmo_shim.work import play

    play(log, episode, port, vendor, agent)


main = entry(shim)
