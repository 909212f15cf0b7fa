"""The frame around every executable: common options, and the one place where errors become exit codes (design 2).

Only click is imported here, so that `--help` costs no more than click itself.
"""

import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import click

from wmo_kit.errors import Terminated, Usage, WmoError
from wmo_kit.io_errors import describe
from wmo_kit.log import Log
from wmo_kit.signals import handle_stopping, raise_stop
from wmo_kit.streams import let_go, open_closed_streams

CallableT = TypeVar("CallableT", bound=Callable[..., Any])
GoesOn = Callable[[Mapping[str, Any]], bool]


def common_options(tool: str) -> Callable[[CallableT], CallableT]:
    """Give a decorator that adds --version and --log-json; the command gets its Log by `@click.pass_obj`."""

    def keep_log(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value or context.obj is None:
            context.obj = Log(tool, value)

    def decorate(function: CallableT) -> CallableT:
        decorated = click.option(
            "--log-json",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=keep_log,
            help="Write stderr as JSON Lines.",
        )(function)
        return click.version_option(package_name=tool, prog_name=tool)(decorated)

    return decorate


def entry(command: click.Command, *, goes_on: GoesOn = lambda _: False) -> Callable[[], NoReturn]:
    """Give the console script of `command`: runs it on sys.argv and exits with the code of design 2's table.

    `goes_on` is told the command's parameters and says whether the same command takes up work that was interrupted.
    """
    command.context_settings.setdefault("help_option_names", ["-h", "--help"])

    def main() -> NoReturn:
        open_closed_streams()
        tool = command.name or "wmo"
        code = _run(command, Log(tool, "--log-json" in sys.argv), goes_on)
        for stream in (sys.stdout, sys.stderr):
            let_go(stream)
        sys.exit(code)

    return main


def _run(command: click.Command, log: Log, goes_on: GoesOn) -> int:
    """Run the command and give its exit code. An unnamed OSError is I/O trouble (74), any other surprise a bug (70)."""
    advice = ""
    try:
        handle_stopping(raise_stop)  # in here: a signal that waits for it comes at once
        # not command.main(): click's own frame answers a closed pipe with exit 1
        with command.make_context(command.name, sys.argv[1:]) as context:
            advice = "; run the same command again to go on" if goes_on(context.params) else ""
            command.invoke(context)
        sys.stdout.flush()
        return 0
    except WmoError as error:
        log.say("error", str(error), code=error.code)
        return error.code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        log.say("error", f"{error.format_message()}\n{usage}".strip(), code=Usage.code)
        return Usage.code
    except (KeyboardInterrupt, click.exceptions.Abort):
        log.say("interrupted", f"interrupted{advice}", code=130)
        return 130
    except Terminated as error:
        how = "terminated" if error.number == signal.SIGTERM else "the terminal is gone"
        log.say("terminated", f"{how}{advice}", code=error.code)
        return error.code
    except BrokenPipeError:
        return 141
    except OSError as error:
        log.say("error", describe(error), code=74)
        return 74
    except Exception:  # noqa: BLE001  the frame is where a bug becomes exit 70 with its traceback
        log.say("bug", f"bug in {log.tool}, please report:\n{traceback.format_exc()}", code=70)
        return 70
