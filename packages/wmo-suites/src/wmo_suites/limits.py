"""What one sandbox may use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SandboxLimits:
    """Bounds of one sandbox. Bytes and seconds.

    `command_timeout_s` and `output_cap_bytes` hold for one command (the cap also for one read_file). `memory_bytes` and
    `file_bytes` hold for each process (RLIMIT_DATA, RLIMIT_FSIZE) and, as `processes`, for the whole sandbox, within a
    moment: memory of the processes and of /tmp and /dev/shm, files below /app. `tmp_bytes` holds for /tmp and again for
    /dev/shm.
    """

    command_timeout_s: float = 60.0
    output_cap_bytes: int = 30_000
    memory_bytes: int = 4 << 30
    file_bytes: int = 1 << 30
    processes: int = 512
    tmp_bytes: int = 1 << 30

    def words(self, limit: str) -> str:
        """Say how much of "processes", "memory" or "storage" a whole sandbox may use."""
        return {
            "processes": f"{self.processes} processes",
            "memory": f"{self.memory_bytes >> 20} MiB of memory",
            "storage": f"{self.file_bytes >> 20} MiB of files",
        }[limit]
