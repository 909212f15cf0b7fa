import os
import signal
import subprocess
import sys

from wmo_kit.orphans import descendants

PROGRAM = """
import subprocess
from wmo_kit.orphans import descendants, ending_descendants
ours = subprocess.Popen(["sleep", "86397"])
with ending_descendants():
    subprocess.run(["bash", "-c", "setsid sleep 86398 & setsid bash -c 'trap : TERM; sleep 86398 & wait' &"])
    print(len(descendants()) > 1, flush=True)
print(descendants() == {ours.pid}, flush=True)
ours.kill()
"""


def test_what_left_its_group_and_its_parent_is_ended_and_what_was_there_before_is_not():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True\nTrue\n"
    assert "Traceback" not in done.stderr  # the shells may tell of their killed children there


def test_descendants_are_children_of_children_too():
    shell = subprocess.Popen(["bash", "-c", "sleep 86396 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True)
    shell.stdout.readline()
    assert shell.pid in descendants()
    assert len(descendants()) >= 2
    os.killpg(shell.pid, signal.SIGKILL)
    shell.communicate()
