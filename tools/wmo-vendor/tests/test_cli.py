"""The installed tool as a user runs it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from wmo_harness.pi_agent import find_vendor_dir

VENDOR = find_vendor_dir(None, Path(__file__).parent)
TOOL = Path(sys.executable).parent / "wmo-vendor"


def run(*arguments, cwd="/", **environment):
    env = {key: value for key, value in os.environ.items() if key != "WMO_VENDOR"} | environment
    return subprocess.run([TOOL, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path):
    for name in ("manifest.sha256", "package-lock.json"):
        shutil.copy(VENDOR / name, tmp_path)
    shutil.copytree(VENDOR / "pi-agent", tmp_path / "pi-agent")
    return tmp_path


def test_check_of_the_installed_tree():
    done = run("check")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (document["schema"], document["ok"], len(document["files"])) == ("wmo.manifest-check/1", True, 27)


def test_check_lists_what_is_wrong_and_exits_1(copy):
    agent = copy / "pi-agent" / "src" / "agent.ts"
    agent.write_bytes(agent.read_bytes()[:-1] + b"!")
    (copy / "pi-agent" / "README.md").unlink()
    (copy / "pi-agent" / "src" / "new.ts").write_text("")
    done = run("check", "--vendor", str(copy))
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["ok"] is False
    assert {(file["path"], file["status"]) for file in document["files"] if file["status"] != "ok"} == {
        ("pi-agent/src/agent.ts", "changed"),
        ("pi-agent/README.md", "missing"),
        ("pi-agent/src/new.ts", "unexpected"),
    }
    assert "changed 'pi-agent/src/agent.ts'" in done.stderr


def test_check_reads_the_other_spelling(copy):
    lines = (line.split("  ") for line in (copy / "manifest.sha256").read_text().splitlines())
    (copy / "manifest.sha256").write_text("".join(f"SHA256 ({path}) = {digest}\n" for digest, path in lines))
    assert run("check", WMO_VENDOR=str(copy)).returncode == 0


def test_a_manifest_that_leads_out_of_the_tree_is_a_bad_document(copy):
    with (copy / "manifest.sha256").open("a") as file:
        file.write(f"{'0' * 64}  pi-agent/../secret\n")
    done = run("check", "--vendor", str(copy))
    assert (done.returncode, done.stdout) == (65, "")
    assert "line 28" in done.stderr


def test_tree_prints_the_seed_and_nothing_of_a_changed_one(copy):
    done = run("tree", "--vendor", str(copy))
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert (document["schema"], document["name"], len(document["files"])) == ("wmo.harness/1", "pi", 27)
    (copy / "pi-agent" / "src" / "agent.ts").write_text("")
    done = run("tree", "--vendor", str(copy))
    assert (done.returncode, done.stdout) == (1, "")
    shutil.rmtree(copy / "pi-agent")
    done = run("tree", "--vendor", str(copy))
    assert (done.returncode, done.stdout) == (69, "")
    assert "wmo-vendor install" in done.stderr


def test_the_flag_wins_over_the_environment(copy, tmp_path):
    assert run("check", "--vendor", str(copy), WMO_VENDOR=str(tmp_path / "nowhere")).returncode == 0
    done = run("check", WMO_VENDOR=str(tmp_path / "nowhere"))
    assert done.returncode == 69
    assert "nowhere" in done.stderr


def test_the_other_seed_needs_no_vendored_pi(tmp_path):
    done = run("tree", "--seed", "baseline", "--vendor", str(tmp_path))
    document = json.loads(done.stdout)
    assert (done.returncode, document["name"]) == (0, "baseline")
    assert [file["path"] for file in document["files"]] == ["SYSTEM.md", "config.toml"]
    assert run("tree", "--seed", "nothing").returncode == 2


@pytest.mark.parametrize("command", ["install", "tree", "check"])
def test_help_has_an_example(command):
    assert "Example: wmo-vendor" in run(command, "--help").stdout
    assert "Example: wmo-vendor" in run("--help").stdout


def test_a_finished_install_is_kept_and_printed():
    done = run("install", "--log-json")
    assert done.returncode == 2, "common options stand before the command"
    done = run("--log-json", "install")
    assert done.returncode == 0
    assert json.loads(done.stderr)["event"] == "kept"
    assert json.loads(done.stdout)["ok"] is True
