"""Command line of wmo-shim."""

from pathlib import Path

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.errors import Usage
from wmo_kit.log import Log

EXAMPLE = """\b
Examples:
  wmo-shim --episode episode.json -- node --experimental-strip-types entry.ts > result.json
  wmo-shim --episode episode.json -- python3 -s -m kit_python > result.json    # for a kit-python harness
  wmo-shim --episode episode.json      # prints its URL and token on stderr; now be the agent:
    curl -H "Authorization: Bearer $TOKEN" $URL/task
    curl -H "Authorization: Bearer $TOKEN" $URL/tool -d '{"name": "bash", "arguments": {"command": "ls"}}'
    curl -H "Authorization: Bearer $TOKEN" $URL/done -d '{"answer": "done", "reason": "submit"}'
  T=runs/demo/candidates/candidate-0000/trials/csv-repair/attempt-1
  wmo-shim --replay $T                 # that trial again, with no model: exit 0 where all is as recorded
  cp -r runs/demo/candidates/candidate-0000/source mine; edit mine/...
  wmo-shim --replay $T --source mine   # exit 1, and the first turn at which the edit makes a difference
"""


@click.command("wmo-shim", epilog=EXAMPLE, context_settings={"allow_interspersed_args": False})
@click.option("--episode", metavar="FILE", help="The wmo.episode/1 document, - for stdin.")
@click.option(
    "--replay",
    "trial",
    metavar="TRIAL",
    type=click.Path(path_type=Path),
    help="Play this trial's folder again: its recorded replies stand in for the model.",
)
@click.option(
    "--source",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="With --replay: play this harness in place of the trial's own.",
)
@click.option(
    "--tools",
    type=click.Choice(["real", "recorded"]),
    help="With --replay: run tool calls in a sandbox (real, the default where they were), or answer from the record.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", help="Port on loopback.")
@click.option("--yes", is_flag=True, help="Agree to a document without a sandbox for a real model.")
@click.option("--vendor", type=click.Path(path_type=Path), help="The vendor directory.")
@click.argument("agent", nargs=-1, metavar="[--] [COMMAND...]")
@common_options("wmo-shim")
@click.pass_obj
def shim(
    log: Log,
    /,
    *,
    episode: str | None,
    trial: Path | None,
    source: Path | None,
    tools: str | None,
    port: int,
    yes: bool,
    vendor: Path | None,
    agent: tuple[str, ...],
) -> None:
    """Serve one episode to an agent process; print wmo.episode-result/1.

    COMMAND is the agent. It runs in a folder made for it, which holds the harness and what plays it (entry.ts for
    pi-node, kit_python for kit-python), node or Python first on its PATH, and PI_SHIM_URL and PI_SHIM_TOKEN in its
    environment. Without COMMAND, one line says where the shim
    is, and it serves until somebody posts to /done (or Ctrl-C). The tools act on a copy of the task's workspace, or are
    answered by the world model (role world) or the recorded episodes that the document names.

    With --replay, no model is asked: the trial's replies are served in order for as long as the harness asks what it
    asked then; at the first other request the episode ends as provider_error. The result's `replay`, and a line on
    stderr, say where and how it differs: exit 1. Without COMMAND, the harness's own agent plays.
    """
    if (episode is None) == (trial is None):
        raise Usage("name an episode with '--episode FILE' or a trial with '--replay TRIAL', one of the two")
    if trial is not None:
        from wmo_shim.replay import play_again

        play_again(log, trial, source, tools=tools, port=port, vendor=vendor, command=agent)
        return
    if source is not None or tools is not None:
        raise Usage("'--source' and '--tools' go with '--replay': an episode document names its own")
    from wmo_shim.work import play

    play(log, str(episode), port, vendor, agent, yes=yes)


main = entry(shim)
