"""Set-up killed while a child of it still works: the next set-up must wait, not work beside it."""

import fcntl
import os
import signal
import subprocess
import sys
import time

PARENT = """
import sys
from pathlib import Path
from wmo_kit.log import Log
from wmo_vendor.install import only_one
from wmo_vendor.node import run_script
vendor = Path(sys.argv[1])
with only_one(vendor, Log("test")) as lock:
    run_script(vendor / "npm.mjs", vendor / "pid", pass_fds=(lock,))
"""
CHILD = """
import { renameSync, writeFileSync } from "node:fs";
const path = process.argv[2];
writeFileSync(`${path}.new`, String(process.pid));
renameSync(`${path}.new`, path);
setTimeout(() => {}, 60_000);
"""


def is_locked(path):
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_lock_lives_as_long_as_the_child(tmp_path):
    lock = tmp_path / "package-lock.json"
    lock.write_text("{}")
    (tmp_path / "npm.mjs").write_text(CHILD)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, tmp_path])
    wait_until((tmp_path / "pid").exists)
    child = int((tmp_path / "pid").read_text())
    try:
        parent.kill()
        parent.wait()
        assert is_locked(lock)
    finally:
        os.kill(child, signal.SIGKILL)
    wait_until(lambda: not is_locked(lock))
