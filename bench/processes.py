"""The processes below another, from /proc: what they are, what processor time and what memory they have."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process with its command line and the clock ticks of processor time that it has used."""

    pid: int
    argv: tuple[str, ...]
    ticks: int

    def memory_bytes(self) -> int:
        """Give its share of memory (PSS: a page that n processes have counts a nth for each), 0 where it has ended."""
        try:
            lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text("ascii").splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


def descendants(root: int) -> list[Process]:
    """Give `root` and every process below it, in no order."""
    parents: dict[int, int] = {}
    found: dict[int, Process] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  names alone, quickly
        if not name.isdigit():
            continue
        try:
            fields = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
            argv = Path("/proc", name, "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it ended meanwhile
        parents[int(name)] = int(fields[1])
        found[int(name)] = Process(int(name), tuple(argv[:-1]), int(fields[11]) + int(fields[12]))
    return [process for pid, process in found.items() if _below(pid, root, parents)]


def _below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid != root and pid in parents:
        pid = parents[pid]
    return pid == root
