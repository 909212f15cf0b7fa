"""The frame around every executable: common options, and the one place where errors become exit codes (design 2).

Only click is imported here, so that `--help` costs no more than click itself.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TextIO, TypeVar

import click

from wmo_kit.errors import Terminated, Usage, WmoError
from wmo_kit.io_errors import describe
from wmo_kit.log import Log
from wmo_kit.signals import handle_stopping, raise_stop

CallableT = TypeVar("CallableT", bound=Callable[..., Any])


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


def entry(command: click.Command) -> Callable[[], NoReturn]:
    """Give the console script of `command`: runs it on sys.argv and exits with the code of design 2's table."""

    def main() -> NoReturn:
        handle_stopping(raise_stop)
        tool = command.name or "wmo"
        code = _run(command, Log(tool, "--log-json" in sys.argv))
        for stream in (sys.stdout, sys.stderr):
            _let_go(stream)
        sys.exit(code)

    return main


def _run(command: click.Command, log: Log) -> int:
    """Run the command and give its exit code. An unnamed OSError is I/O trouble (74), any other surprise a bug (70)."""
    try:
        # not command.main(): click's own frame answers a closed pipe with exit 1
        with command.make_context(command.name, sys.argv[1:]) as context:
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
        log.say("interrupted", "interrupted; run the same command again to go on", code=130)
        return 130
    except Terminated as error:
        how = "terminated" if error.number == signal.SIGTERM else "the terminal is gone"
        log.say("terminated", f"{how}; run the same command again to go on", code=error.code)
        return error.code
    except BrokenPipeError:
        return 141
    except OSError as error:
        log.say("error", describe(error), code=74)
        return 74
    except Exception:  # noqa: BLE001  the frame is where a bug becomes exit 70 with its traceback
        log.say("bug", f"bug in {log.tool}, please report:\n{traceback.format_exc()}", code=70)
        return 70


def _let_go(stream: TextIO) -> None:
    """Drop what a full disk or a closed pipe did not take: the interpreter would try again at exit, and exit 120."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
