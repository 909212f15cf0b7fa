"""What tests ask of the machine about processes that they, or those below them, started."""

import time
from pathlib import Path


def descendants(pid: int) -> dict[int, str]:
    """Give pid -> name of every process below this one."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():  # not glob: it fails where one ends meanwhile
        try:
            found, _, rest = (entry / "stat").read_text().partition(" (") if entry.name.isdigit() else ("", "", "")
        except OSError:
            continue
        if not found:
            continue
        name, _, fields = rest.rpartition(") ")
        parents[int(found)], names[int(found)] = int(fields.split()[1]), name
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    return {child: names[child] for child in below - {pid}}


def alive(pids) -> list[int]:
    """Give those that still run; a zombie that nobody has reaped yet does not."""
    running = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except OSError:
            continue
        if state not in "ZX":
            running.append(pid)
    return running


def command_lines(pids) -> list[str]:
    """Give what they are, for a message."""
    lines = []
    for pid in pids:
        try:
            lines.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return lines


def wait_gone(pids, seconds: float = 10) -> None:
    """Wait until none of them runs; what was killed is gone in a moment, not at once."""
    deadline = time.monotonic() + seconds
    while alive(pids):
        assert time.monotonic() < deadline, f"still running: {command_lines(alive(pids))}"
        time.sleep(0.02)


def wait_until(condition, process, seconds: float = 60) -> None:
    """Wait for a moment in the life of `process`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, f"it ended with {process.returncode} before the awaited moment"
        assert time.monotonic() < deadline, "the awaited moment never came"
        time.sleep(0.02)
