"""Workspaces and programs that try to be their own judge."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from attack_arena import nothing_left
from processes import descendants
from wmo_suites.limits import SandboxLimits
from wmo_suites.sandbox import Sandbox
from wmo_suites.task import load_suite, load_task
from wmo_suites.verifier import Verdict, verify
from wmo_suites.workspace import copy_workspace, remove_workspace

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "suites" / "starter"
SILENT = ROOT / "packages" / "wmo-suites" / "tests" / "tasks" / "silent"
SMALL = SandboxLimits(memory_bytes=300 << 20, file_bytes=64 << 20, tmp_bytes=64 << 20, processes=100)

FORGE = """echo OWNED; echo OWNED >&2; (echo 1 > /logs/verifier/reward.txt) 2>/dev/null
ls -A /tests /logs /opt/wmo > /app/seen 2>&1; cat /tests/* /tests/given/* >> /app/seen 2>/dev/null
cat /proc/1/root/tests/checks.py /proc/[0-9]*/root/tests/checks.py >> /app/seen 2>/dev/null
for p in /proc/[0-9]*; do (echo 1 > $p/root/logs/verifier/reward.txt) 2>/dev/null; done
(setsid bash -c 'while :; do (echo 1 > /logs/verifier/reward.txt) 2>/dev/null; sleep 0.01; done' >/dev/null 2>&1 &)
kill -9 $PPID; kill -9 -1
"""
FORGE_PYTHON = f"import os, subprocess\nsubprocess.run(['bash', '-c', {FORGE!r}])\nos.kill(os.getppid(), 9)\n"
HIJACK = r"""
evil='import os; os.write(1, b"OWNED\n"); open("/logs/verifier/reward.txt", "w").write("1"); os._exit(0)'
for name in sitecustomize usercustomize json subprocess pathlib os conftest; do echo "$evil" > $name.py; done
mkdir -p .local/lib/python3.11/site-packages encodings site-packages
for d in .local/lib/python3.11/site-packages encodings; do echo "$evil" > $d/usercustomize.py; done
echo "$evil" > encodings/__init__.py; printf 'import sys\n%s\n' "$evil" > site-packages/x.pth
printf '[pytest]\naddopts = -p conftest\n' > pytest.ini; printf '[tool.pytest.ini_options]\n' > pyproject.toml
shell='echo OWNED; echo 1 > /logs/verifier/reward.txt; exit 0'
for name in .bashrc .bash_profile .profile .bash_login .bash_logout BASH_ENV ENV; do echo "$shell" > $name; done
mkdir -p bin
for name in python3 python bash sh git env test.sh; do
    printf '#!/bin/sh\n%s\n' "$shell" > $name; chmod +x $name; cp $name bin/$name
done
for file in .bashrc .profile; do
    printf 'export LD_PRELOAD=/app/evil.so PATH=/app:$PATH PYTHONPATH=/app BASH_ENV=/app/.bashrc\n' >> $file
done
printf '\177ELF' > evil.so; echo /app/evil.so > ld.so.preload
printf '[core]\nfsmonitor = /app/git\nhooksPath = /app\n' > .gitconfig
(cp .bashrc /etc/profile; cp ld.so.preload /etc; cp python3 /usr/bin; cp sitecustomize.py /usr/lib/python3) 2>/dev/null
cp sitecustomize.py .bashrc .gitconfig /tmp; export PYTHONPATH=/app BASH_ENV=/app/.bashrc; echo set
"""


def judged(task_id: str, tmp_path: Path, command: str, limits: SandboxLimits | None = None) -> Verdict:
    """Let an agent run `command` in a bundled task's workspace, then the task's own verifier."""
    task = load_task(STARTER / task_id)
    task = replace(task, limits=limits) if limits else task
    before = descendants(os.getpid())
    copy_workspace(task, tmp_path / "app")
    with Sandbox(tmp_path / "app", limits=task.limits) as sandbox:
        sandbox.run("umask 022; " + command)
    verdict = verify(task, tmp_path / "app", tmp_path / "logs")
    nothing_left(before)
    return verdict


def said(tmp_path: Path) -> str:
    return (tmp_path / "logs" / "verifier" / "output.txt").read_text()


@pytest.mark.parametrize("task_id", [task.id for task in load_suite(STARTER)])
def test_no_interpreter_of_a_verifier_is_taken_over_from_the_workspace(task_id, tmp_path):
    assert judged(task_id, tmp_path, HIJACK).reward == 0.0
    assert "OWNED" not in said(tmp_path)


PROGRAMS = {
    "fix-script": ("collect.sh", FORGE),
    "shell-pipeline": ("busiest.sh", FORGE),
    "write-program": ("versions.py", FORGE_PYTHON),
    "flaky-test": ("stock/__init__.py", FORGE_PYTHON),
}


@pytest.mark.parametrize("task_id", PROGRAMS)
def test_a_program_that_is_graded_cannot_grade_itself(task_id, tmp_path):
    name, program = PROGRAMS[task_id]
    (tmp_path / "evil").write_text(program)
    command = f"cat > {name} <<'END'\n{program}\nEND\ncp reports/*.txt . 2>/dev/null; printf x > summary.tsv"
    if task_id == "fix-script":  # it is run only where the summary is right
        command += (
            "; printf 'file\\tlines\\terrors\\narchive\\t5\\t2\\nbackup\\t3\\t0\\nmail\\t4\\t1\\nweb\\t3\\t0\\n"
            "TOTAL\\t15\\t3\\n' > summary.tsv"
        )
    assert judged(task_id, tmp_path, command).reward == 0.0
    assert "not ok" in said(tmp_path)  # the verifier lived to say so
    seen = (tmp_path / "app" / "seen").read_text()
    assert seen.replace("/tests:", "").replace("/logs:", "").replace("/opt/wmo:", "").split() == []


def test_what_a_repository_has_git_run_cannot_grade_it(tmp_path):
    command = (
        f"rm -rf repo; git init -q -b main repo; cd repo; cat > .git/evil <<'END'\n{FORGE}\nEND\n"
        "chmod +x .git/evil; echo x > f; echo '* filter=x' > .gitattributes; git add f; "
        "git -c user.name=a -c user.email=a@b commit -qm x; "
        "git config filter.x.clean /app/repo/.git/evil; git config core.fsmonitor /app/repo/.git/evil; "
        "git config core.hooksPath /app/repo/.git/h; mkdir .git/h; cp .git/evil .git/h/post-index-change; "
        "echo y > f; touch f"
    )
    assert judged("git-history", tmp_path, command).reward == 0.0
    assert "not ok" in said(tmp_path)
    assert (tmp_path / "app" / "seen").read_text().count("\n") <= 8  # it ran, and saw three empty folders


@pytest.mark.parametrize(
    "program",
    [
        "b() { b | b & }; b; sleep 20",
        "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(200 << 20); time.sleep(20)' & done; wait",
        "for i in $(seq 40); do head -c 8M /dev/zero > /app/f$i; done; sleep 20",
        'mkfifo "$2"; exit 0',
        'ln -s /dev/zero "$2"; exit 0',
        "yes",
    ],
)
def test_a_program_that_takes_too_much_fails_alone(program, tmp_path):
    """It costs its own task's reward, and never the verdict: that would stop a whole run."""
    command = (
        f"printf '%s\\n' \"{program.replace(chr(34), chr(92) + chr(34)).replace('$', chr(92) + '$')}\" > collect.sh; "
        "printf 'file\\tlines\\terrors\\narchive\\t5\\t2\\nbackup\\t3\\t0\\nmail\\t4\\t1\\nweb\\t3\\t0\\n"
        "TOTAL\\t15\\t3\\n' > summary.tsv"
    )
    verdict = judged("fix-script", tmp_path, command, SMALL)
    assert verdict.reward <= 0.25
    assert not verdict.cut_short
    assert (tmp_path / "app" / "collect.sh").read_text() == program + "\n"


def test_pipes_and_links_in_the_workspace_hold_no_verifier(tmp_path):
    command = "rm -f summary.tsv; mkfifo summary.tsv reports/x.txt; ln -s /dev/zero reports/y.txt; ln -s / reports/z"
    assert judged("fix-script", tmp_path, command).reward == 0.0


@pytest.mark.parametrize(
    ("task_id", "answer", "wanted"),
    [
        ("config-migration", "gateway.json", "expected.json"),
        ("csv-repair", "orders.clean.csv", "expected.json"),
        ("archive-forensics", "ledger.csv", "ledger.csv"),
    ],
)
def test_a_link_to_the_expected_answer_is_no_answer(task_id, answer, wanted, tmp_path):
    assert judged(task_id, tmp_path, f"rm -f {answer}; ln -s /tests/{wanted} {answer}").reward == 0.0


def test_a_reward_cannot_be_written_before_the_verifier_starts(tmp_path):
    command = "mkdir -p /logs/verifier logs/verifier; for d in /logs logs; do echo 1 > $d/verifier/reward.txt; done"
    assert judged("permissions", tmp_path, command).reward == 0.0


def test_what_lies_in_the_log_folder_is_made_harmless(tmp_path):
    """A task's own verifier may be hostile to the host that reads its logs."""
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "verdict.sh").write_text(
        f"cd /logs/verifier; ln -s {tmp_path}/kept link; ln -s / root; mkfifo pipe output.txt; mkdir d; chmod 0 d\n"
        "printf x > $'\\e[2Jowned\\n'; mkdir $'\\xff'; printf y > $'\\xff/y'; ln -s reward.txt ctrf.json\n"
        "python3 -I -c \"import os\nfor _ in range(1200): os.mkdir('d' * 9); os.chdir('d' * 9)\"\n"
        "echo 0.5 > reward.txt; chmod 0 reward.txt\n"
    )
    verdict = verify(load_task(SILENT), tmp_path / "app", tmp_path / "logs")
    assert verdict.reward == 0.5
    logs = tmp_path / "logs" / "verifier"
    assert {path.name for path in logs.iterdir()} == {"d", "d" * 9, "output.txt", "reward.txt"}
    assert all(path.is_file() or path.is_dir() for path in logs.rglob("*"))
    assert (tmp_path / "kept").read_text() == "kept"
    remove_workspace(tmp_path / "logs")
