"""Command line of wmo-offline."""

import click
from wmo_kit.cli import common_options, entry
from wmo_kit.log import Log


@click.command("wmo-offline")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port; 0 takes any free one.")
@click.option(
    "--latency-ms",
    type=click.IntRange(0, 600_000),
    default=0,
    show_default=True,
    help="Wait this long before every completion, as a distant model does.",
)
@click.option("--with-parent", is_flag=True, help="Also stop when standard input closes, so as to die with the parent.")
@common_options("wmo-offline")
@click.pass_obj
def offline(log: Log, port: int, latency_ms: int, with_parent: bool) -> None:
    """Serve the offline model on loopback: a simulation of a model endpoint that needs no key and no network.

    It speaks OpenAI's protocol (/v1/chat/completions, streaming or not, and /v1/models) for the models
    offline-worker, offline-optimizer, offline-world and offline-judge. A reply depends on the request alone. When it is
    ready it prints one JSON line on stdout, {"url": "http://127.0.0.1:PORT/v1"}, and serves until INT or TERM.

    \b
    Example:
        wmo-offline --port 8123 &
        WMO_BASE_URL=http://127.0.0.1:8123/v1 WMO_MODEL=offline-worker WMO_API_KEY=none wmo-score ...
    """  # noqa: D301  click wants the character
    from wmo_models.offline.server import OfflineServer, serve_until_stdin_closes

    with OfflineServer(port, latency_ms / 1000) as server:
        click.echo(server.ready_line)
        log.say("serving", f"the offline model (a simulation) serves at {server.url}", url=server.url)
        if with_parent:
            serve_until_stdin_closes(server)
        else:
            server.serve_forever()


main = entry(offline)
