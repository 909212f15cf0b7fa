"""Hostile kit-python candidates: the same box, and what only Python reaches easily."""

import json

import pytest
from attack_arena import SECRET, beside, play_kit, told

LOOK = """
found = []
for top, folders, files in os.walk("/"):
    if top == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "usr", "dev", "lib", "opt")]
    if top.startswith("/run/wmo/harness"):
        continue
    for name in files:
        place = os.path.join(top, name)
        try:
            if WANTED in open(place, "rb").read(1 << 20):
                found.append(place)
        except OSError:
            pass
for process in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "maps"):
        try:
            if WANTED in open(f"/proc/{process}/{name}", "rb").read():
                found.append(f"/proc/{process}/{name}")
        except OSError:
            pass
"""


def test_the_key_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("WMO_API_KEY", SECRET)
    (tmp_path / "wmo.toml").write_text(f'[roles.worker]\nbase_url = "http://{SECRET}.invalid/v1"\nmodel = "m"\n')
    look = LOOK.replace("WANTED", f"b'{SECRET[:12]}' b'{SECRET[12:]}'")  # its own source does not hold the whole
    assert told(play_kit(tmp_path, look + "\nsay(found)")) == []
    control = f"\nopen('/tmp/own', 'w').write('{SECRET[:12]}' '{SECRET[12:]}')\n"
    assert told(play_kit(tmp_path, control + look + "\nsay(found)")) == ["/tmp/own"]


def test_neither_host_nor_network_is_there(tmp_path):
    body = """
places = [p for p in ("/work", "/root", "/home", "/app", "/tests", "/solution", "/etc/shadow") if os.path.exists(p)]
written = []
for folder in ("/", "/usr", "/etc", "/run/wmo", "/run/wmo/harness", "/opt"):
    try:
        open(folder + "/x", "w")
        written.append(folder)
    except OSError:
        pass
opened = []
for host in ("127.0.0.1", "1.1.1.1", "10.0.0.1"):
    for port in (22, 53, 80, 443, 8000):
        line = socket.socket()
        line.settimeout(0.3)
        if line.connect_ex((host, port)) == 0:
            opened.append([host, port])
say([places, written, opened])
"""
    assert told(play_kit(tmp_path, body)) == [[], [], []]


BOMBS = {
    "forks": (
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        "everything in the agent's box was killed",
    ),
    "64 GB": ("held = bytearray(64 << 30)", "MemoryError"),
    "shared memory": (
        "held = []\nwhile True:\n    held.append(mmap.mmap(-1, 64 << 20))\n    held[-1].write(b'x' * (64 << 20))",
        "more than 2048 MiB of memory",
    ),
    "memory files": (
        "files = []\nfor _ in range(900):\n    files.append(os.memfd_create('x'))\n"
        "    os.write(files[-1], b'x' * (60 << 20))\n",
        "more than 2048 MiB of memory",
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_takes_too_much_ends_alone_and_is_told(tmp_path, bomb):
    body, words = BOMBS[bomb]
    with beside(tmp_path):
        result = play_kit(tmp_path / "honest", body, timeout_s=30)
    assert result.stop_reason == "error"
    assert words in result.note


def test_done_by_hand_and_a_forged_token(tmp_path):
    body = """
from http.client import HTTPConnection
given = []
for key in ("", "x" * 32):
    line = HTTPConnection(os.environ.get("PI_SHIM_URL", "http://127.0.0.1:8080").removeprefix("http://"))
    body = json.dumps({"answer": "forged", "reason": "submit"})
    line.request("POST", "/done", body, {"Authorization": "Bearer " + key})
    given.append(line.getresponse().status)
say(given)
"""
    result = play_kit(tmp_path, body)
    assert told(result) == [401, 401]
    assert json.loads(result.to_text())["answer"] == ""
