"""What trials.py and memory.py score: a suite whose verifiers do nothing but give their verdict; and how they do it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TASK_TOML = 'version = "1.0"\n\n[agent]\ntimeout_sec = 120.0\n\n[verifier]\ntimeout_sec = 30.0\n'


def make_suite(suite: Path, tasks: int) -> Path:
    """Write so many tasks into the new folder `suite`; gives it."""
    for number in range(tasks):
        task = suite / f"task-{number:02d}"
        (task / "environment/workspace").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "environment/workspace/here.txt").write_text("here\n")
        (task / "task.toml").write_text(TASK_TOML)
        (task / "instruction.md").write_text("Do ten turns.\n")
        (task / "tests/test.sh").write_text("echo 1.0 > /logs/verifier/reward.txt\n")
    return suite


def tool(*argv: str, env: dict[str, str] | None = None) -> bytes:
    """Run one of our tools to its end; gives its stdout. Raises CalledProcessError."""
    return subprocess.run([_path(argv[0]), *argv[1:]], check=True, stdout=subprocess.PIPE, env=env).stdout


def write_seed(path: Path) -> Path:
    """Write the document of the vendored pi; gives its path."""
    path.write_bytes(tool("wmo-vendor", "tree"))
    return path


def with_model(base_url: str) -> dict[str, str]:
    """Give our environment with the model at `base_url`."""
    return {**os.environ, "WMO_BASE_URL": base_url, "WMO_MODEL": "bench", "WMO_API_KEY": "none"}


@contextmanager
def scoring(harness: Path, suite: Path, base_url: str, log: Path, **options: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start wmo-score with `options`; fails on leaving where it did not end with 0. What it says goes to `log`."""
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    argv = [str(_path("wmo-score")), str(harness), "--suite", str(suite), *flags]
    with log.open("wb") as file:
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=file, env=with_model(base_url))
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"wmo-score ended with {process.returncode}: {log.read_text()[-2000:]}")


def watch(process: "subprocess.Popen[bytes]", every_s: float, look: Callable[[], None]) -> None:
    """Call `look` every so often as long as the process runs."""
    while process.poll() is None:
        look()
        try:
            process.wait(every_s)
        except subprocess.TimeoutExpired:
            continue


def _path(name: str) -> Path:
    return Path(sys.executable).parent / name
