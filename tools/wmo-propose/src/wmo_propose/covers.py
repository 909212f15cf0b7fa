"""What lies below /usr and must not be seen there: every box shows /usr, so it is covered by nothing."""

from collections.abc import Sequence
from pathlib import Path

from wmo_suites.allowed import Allowed, is_shown
from wmo_suites.box import Bind
from wmo_suites.host import survey

EMPTY = "nothing"


def covers(hidden: Sequence[Path], work_dir: Path, workspace: Path) -> tuple[Bind, ...]:
    """Give binds of empty folders over those of the `hidden` folders that a box would show; mostly there are none.

    The empty folders are made in `work_dir`. One that covers `workspace` has a place for it, to be mounted there.
    Raises OSError.
    """
    shown = {path.resolve() for path in hidden if is_shown(path.resolve(), Allowed(), survey())}
    outermost = sorted(path for path in shown if path.is_dir() and shown.isdisjoint(path.parents))
    binds = []
    for number, path in enumerate(outermost):
        empty = work_dir / f"{EMPTY}-{number}"
        empty.mkdir()
        if workspace.is_relative_to(path):
            (empty / workspace.relative_to(path)).mkdir(parents=True)
        binds.append(Bind(empty, str(path)))
    return tuple(binds)
