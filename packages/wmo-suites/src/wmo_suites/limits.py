"""What one sandbox may use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SandboxLimits:
    """Bounds of one sandbox. Bytes and seconds.

    `command_timeout_s` and `output_cap_bytes` hold for one command (the cap also for one read_file). `memory_bytes` and
    `file_bytes` hold for each process (RLIMIT_DATA, RLIMIT_FSIZE), `processes` for the whole sandbox, `tmp_bytes` for
    /tmp and again for /dev/shm.
    """

    command_timeout_s: float = 60.0
    output_cap_bytes: int = 30_000
    memory_bytes: int = 4 << 30
    file_bytes: int = 1 << 30
    processes: int = 512
    tmp_bytes: int = 1 << 30
