"""Hostile tool commands: an agent in its sandbox."""

import os
import socket
import threading
import time
from dataclasses import replace

import pytest
from attack_arena import SECRET, beside, nothing_left, play_kit, wait_for
from processes import descendants
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox
from wmo_suites.workspace import remove_workspace

SMALL = SandboxLimits(memory_bytes=300 << 20, file_bytes=16 << 20, tmp_bytes=16 << 20, processes=100)


@pytest.fixture
def sandbox(tmp_path):
    """Give a small sandbox; nothing of it is left at the end."""
    before = descendants(os.getpid())
    (tmp_path / "app").mkdir()
    with Sandbox(tmp_path / "app", limits=SMALL) as made:
        yield made
    nothing_left(before)
    remove_workspace(tmp_path / "app")


def test_the_key_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("WMO_API_KEY", SECRET)
    (tmp_path / "wmo.toml").write_text(SECRET)
    (tmp_path / "app").mkdir()
    half = f"{SECRET[:9]}[{SECRET[9]}]{SECRET[10:]}"  # the command's own line must not hold the word
    with Sandbox(tmp_path / "app") as sandbox:
        look = f"grep -rlsaI -e '{half}' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=dev"
        assert sandbox.run(look).content == "[exit code 1]"
        environments = f"cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -c -a -e '{half}'"
        assert sandbox.run(environments).content.startswith("0\n")


def test_neither_tests_nor_solution_nor_another_trial_is_there(sandbox, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").write_text("other-trials-words")
    assert "ls: cannot access" in sandbox.run(f"ls {tmp_path} /tests /solution /logs /work /root /home").content
    assert sandbox.run("ls -d /tests /solution /logs /root /home 2>/dev/null").content == "[exit code 2]"
    look = "grep -rls other-trials-words / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=dev"
    assert sandbox.run(look).content == "[exit code 1]"


def test_nothing_is_written_outside_the_workspace(sandbox):
    command = (
        "for f in / /usr /usr/bin /etc /opt /opt/wmo /run /var /dev /proc/sys/kernel /app/..; do "
        "touch $f/x 2>/dev/null && echo $f; ln -s /tmp $f/y 2>/dev/null && echo $f; done; echo end"
    )
    assert sandbox.run(command).content == "end\n"


def test_neither_network_nor_shim_is_reached(tmp_path):
    """A command cannot end the episode: /done is the agent's process's to say."""
    (tmp_path / "app").mkdir()
    command = (
        "for p in 8080 80 22 53; do for h in 127.0.0.1 1.1.1.1 10.0.0.1; do "
        "(exec 3<>/dev/tcp/$h/$p) 2>/dev/null && echo open $h $p; done; done; "
        "echo closed"
    )
    with Sandbox(tmp_path / "app") as sandbox:
        body = f"return kit.execute('bash', {{'command': \"{command}\"}}).content"
        result = play_kit(tmp_path, body, environment=sandbox)
    assert (result.stop_reason, result.answer) == ("submitted", "closed\n")


def test_no_abstract_socket_of_the_host_is_reached(sandbox):
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind(f"\0wmo-attack-command-{os.getpid()}")
        ours.listen()
        name = f"\\0wmo-attack-command-{os.getpid()}"
        seen = sandbox.run(f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{name}')\"")
    assert "ConnectionRefusedError" in seen.content


TOO_MUCH = {
    "a fork bomb": ("b() { b | b & }; b; sleep 30", "more than 100 processes"),
    "many files": ("for i in $(seq 40); do head -c 1M /dev/zero > f$i; done; sleep 20", "more than 16 MiB of files"),
    "empty files": ("mkdir d; cd d; seq 5000 | xargs touch; sleep 20", "more than 16 MiB of files"),
    "folders": ("mkdir d; cd d; seq 5000 | xargs mkdir; sleep 20", "more than 16 MiB of files"),
    "unlinked files": (
        "exec 3>g; rm g; exec 4>h; rm h; head -c 10M /dev/zero >&3; head -c 10M /dev/zero >&4; sleep 20",
        "more than 16 MiB of files",
    ),
    "memory": (
        "for i in 1 2 3 4 5 6 7 8; do python3 -c 'import time; x=bytearray(60<<20); time.sleep(9)' & done; wait",
        "more than 300 MiB of memory",
    ),
    "shared memory": (
        "python3 -c 'import mmap, time; x = mmap.mmap(-1, 400 << 20)\nfor _ in range(400): x.write(bytes(1 << 20))\n"
        "time.sleep(9)'",
        "more than 300 MiB of memory",
    ),
}


@pytest.mark.parametrize("attack", TOO_MUCH)
def test_what_takes_too_much_is_ended_and_told(sandbox, attack):
    command, words = TOO_MUCH[attack]
    seen = sandbox.run(command, timeout_s=25)
    assert seen.is_error
    assert f"[{words}: everything in the sandbox was killed]" in seen.content
    if "files" not in words:  # these stay until they are removed
        assert sandbox.run("echo calm").content == "calm\n"


def test_empty_files_in_memory_are_memory(tmp_path):
    (tmp_path / "app").mkdir()
    with Sandbox(tmp_path / "app", limits=replace(SMALL, memory_bytes=32 << 20)) as sandbox:
        seen = sandbox.run("cd /tmp; seq 40000 | xargs touch; sleep 20", timeout_s=25)
    assert "more than 32 MiB of memory" in seen.content


def test_a_fork_bomb_costs_no_other_trial_anything(tmp_path):
    (tmp_path / "app").mkdir()
    with beside(tmp_path), Sandbox(tmp_path / "app", limits=SMALL) as sandbox:
        assert "more than 100 processes" in sandbox.run("b() { b | b & }; b; sleep 30", timeout_s=20).content


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python3 -c 'x = bytearray(64 << 30)'", "MemoryError"),
        ("truncate -s 64G sparse", "File too large"),
        ("head -c 30M /dev/zero > /tmp/x", "No space left|File size limit"),
        ("head -c 30M /dev/zero > /dev/shm/x", "No space left|File size limit"),
    ],
)
def test_one_process_or_file_is_bounded(sandbox, command, words):
    seen = sandbox.run(command)
    assert seen.is_error
    assert any(word in seen.content for word in words.split("|")) or seen.exit_code == 128 + 25  # SIGXFSZ


def test_a_gibibyte_of_output_is_kept_in_part(sandbox):
    seen = sandbox.run("dd if=/dev/zero bs=1M count=1024 2>/dev/null; echo end")
    assert seen.truncated
    assert len(seen.content) < 31_000
    assert seen.content.endswith("end\n")


def test_a_daemon_dies_with_its_sandbox(tmp_path):
    before = descendants(os.getpid())
    (tmp_path / "app").mkdir()
    with Sandbox(tmp_path / "app") as sandbox:
        forked = "import os,time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(86391)"
        sandbox.run(f"python3 -c '{forked}'; (trap '' TERM HUP INT; setsid nohup sleep 86391 >/dev/null 2>&1 &)")
        wait_for(lambda: len(set(descendants(os.getpid())) - set(before)) >= 4)
    nothing_left(before)


def test_what_is_no_file_is_removed(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "host").write_text("kept")
    with Sandbox(tmp_path / "app") as sandbox:
        made = sandbox.run(
            f"mkfifo pipe; ln -s {tmp_path}/host link; ln -s / root; ln -s .. up; mkdir d; mkfifo d/p; chmod 0 d; "
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; mknod dev b 8 0 2>/dev/null; "
            "ln /etc/passwd hard 2>/dev/null; printf x > $'\\xff\\n\\e[31m'; chmod 0 /app; ls -d /app"
        )
    assert made.content == "/app\n"
    assert not os.path.lexists(tmp_path / "app" / "dev")
    assert not os.path.lexists(tmp_path / "app" / "hard")
    remove_workspace(tmp_path / "app")
    assert [path.name for path in tmp_path.iterdir()] == ["host"]
    assert (tmp_path / "host").read_text() == "kept"


def test_folders_deeper_than_a_path_can_say(tmp_path):
    (tmp_path / "app").mkdir()
    dig = "import os\nfor _ in range(1500):\n os.mkdir('d' * 20)\n os.chdir('d' * 20)\nopen('f', 'w')"
    with Sandbox(tmp_path / "app") as sandbox:
        assert sandbox.run(f'python3 -c "{dig}"; sleep 0.6; echo dug').content == "dug\n"
        assert sandbox.run("sleep 0.6; echo alive").content == "alive\n"
    remove_workspace(tmp_path / "app")
    assert list(tmp_path.iterdir()) == []


def test_two_sandboxes_do_not_see_each_other(tmp_path):
    found = {}

    def act(name, other):
        (tmp_path / name).mkdir()
        with Sandbox(tmp_path / name) as sandbox:
            sandbox.run(f"echo {name} > mine; exec -a marker-{name} sleep 60 & sleep 0.3")
            time.sleep(0.5)
            look = f"cat /app/mine; ls /app; grep -als marker-{other} /proc/[0-9]*/cmdline | grep -v /self/"
            found[name] = sandbox.run(f"{look.replace(other, other[:1] + '[' + other[1:2] + ']' + other[2:])}; true")

    threads = [threading.Thread(target=act, args=names) for names in (("one", "two"), ("two", "one"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: seen.content for name, seen in found.items()} == {"one": "one\nmine\n", "two": "two\nmine\n"}
