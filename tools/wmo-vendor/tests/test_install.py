"""Set-up from the npm packages that are installed already: real node, real esbuild, no network."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from wmo_harness.pi_agent import check_pi_agent, find_vendor_dir, runtime_dir, seed_tree
from wmo_kit.errors import BadDocument, Missing, Negative, Transient
from wmo_kit.log import Log
from wmo_vendor.install import PINS, build, install, is_finished, only_one, pi_agent_files
from wmo_vendor.node import NODE, npm_ci, run_script

VENDOR = find_vendor_dir(None, Path(__file__).parent)
LOG = Log("test", as_json=True)
BUILD = """
import sys
from pathlib import Path
from wmo_kit.log import Log
from wmo_vendor.install import build, only_one
vendor = Path(sys.argv[1])
with only_one(vendor, Log("test")) as lock:
    build(vendor, Log("test"), (lock,))
"""


def pins(directory):
    """Make a vendor directory with the pins and the npm packages, nothing built; npm's files are shared, not copied."""
    directory.mkdir()
    for name in PINS:
        shutil.copy(VENDOR / name, directory)
    packages = directory / "node_modules"
    packages.mkdir()
    for path in (VENDOR / "node_modules").iterdir():
        if not path.name.startswith("."):
            (packages / path.name).symlink_to(path)
    return directory


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = pins(tmp_path_factory.mktemp("built") / "vendor")
    build(directory, LOG)
    return directory


def node(code, cwd):
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_build_is_whole_and_a_second_install_keeps_it(built):
    assert check_pi_agent(built).ok
    assert seed_tree(built) == seed_tree(VENDOR)
    assert is_finished(built)
    assert install(built, LOG).ok
    assert {path.name for path in built.iterdir()} == {*PINS, "node_modules", "pi-agent", "runtime"}


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "specifier", ["@earendil-works/pi-ai", "@earendil-works/pi-ai/compat", "typebox", "yaml", "ignore"]
)
def test_the_bundle_exports_what_the_package_exports(built, specifier):
    names = f"import * as all from '{specifier}'; console.log(JSON.stringify(Object.keys(all).sort()))"
    package = set(node(names, VENDOR)) - {"module.exports"}  # node's own name for a CommonJS module's value
    assert set(node(names, built / "runtime")) == package


@pytest.mark.parametrize(
    "specifier",
    ["openai", "zod", "esbuild", "@earendil-works/pi-agent-core", "@earendil-works/pi-ai/chunks/x.js", "typebox/value"],
)
def test_nothing_else_resolves_from_the_bundle(built, tmp_path, specifier):
    (tmp_path / "node_modules").symlink_to(built / "runtime" / "node_modules")
    code = f"console.log(JSON.stringify(await import('{specifier}').then(() => 'found', (error) => error.code)))"
    assert node(code, tmp_path) in ("ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED")


def test_the_two_entries_of_pi_ai_share_one_instance(built):
    code = (
        "import * as a from '@earendil-works/pi-ai'; import * as b from '@earendil-works/pi-ai/compat';"
        " import { Type } from 'typebox';"
        " console.log(JSON.stringify([a.EventStream === b.EventStream, a.Type === b.Type, a.Type === Type]))"
    )
    assert node(code, built / "runtime") == [True, True, True]


def test_a_default_import_works_like_the_package(built):
    code = (
        "import ignore from 'ignore'; import yaml, { parse } from 'yaml'; import typebox from 'typebox';"
        " const rules = ignore().add('*.log');"
        " console.log(JSON.stringify([rules.ignores('a.log'), yaml.parse('a: 1'), parse('b: 2'), typeof typebox]))"
    )
    assert node(code, built / "runtime") == [True, {"a": 1}, {"b": 2}, "object"]


def test_the_compile_cache_is_warm(built):
    seed_files = [path for path in seed_tree(built).as_mapping() if path.endswith(".ts")]
    cached = [path for path in (built / "runtime" / "compile-cache").rglob("*") if path.is_file()]
    assert len(cached) > len(seed_files)


@pytest.mark.parametrize("change", ["stamp", "module", "cache", "pin", "source", "package"])
def test_what_is_changed_after_the_build_is_not_finished(built, tmp_path, change):
    directory = tmp_path / "vendor"
    shutil.copytree(built, directory, symlinks=True)
    assert is_finished(directory)
    if change == "stamp":
        (directory / "runtime" / "stamp.json").unlink()
    elif change == "module":
        (directory / "runtime" / "node_modules" / "yaml" / "index.js").write_text("")
    elif change == "cache":
        shutil.rmtree(directory / "runtime" / "compile-cache")
    elif change == "pin":
        (directory / "package.json").write_text("{}")
    elif change == "source":
        (directory / "pi-agent" / "src" / "agent.ts").unlink()
    else:
        (directory / "node_modules" / "@earendil-works").unlink()
    assert not is_finished(directory)


def test_a_killed_build_never_looks_finished_and_the_next_one_is_whole(built, tmp_path):
    directory = pins(tmp_path / "vendor")
    child = subprocess.Popen(
        [sys.executable, "-c", BUILD, directory], start_new_session=True, stderr=subprocess.DEVNULL
    )
    while not (directory / "node_modules" / ".wmo-runtime").exists():
        assert child.poll() is None
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    with pytest.raises(Missing, match="wmo-vendor install"):
        runtime_dir(directory)
    assert not is_finished(directory)
    with only_one(directory, LOG) as lock:  # the killed one's node may still work, and holds the lock until it ends
        build(directory, LOG, (lock,))
    assert is_finished(directory)
    bundles = [contents(runtime_dir(place) / "node_modules") for place in (directory, built)]
    assert bundles[0] == bundles[1], "the bundle is deterministic"


def test_a_package_that_is_not_upstreams_is_a_negative(built, tmp_path):
    directory = tmp_path / "vendor"
    shutil.copytree(built, directory, symlinks=True)
    manifest = (directory / "manifest.sha256").read_text()
    (directory / "manifest.sha256").write_text(manifest.replace(manifest[:64], "0" * 64, 1))
    with pytest.raises(Negative, match=r"changed 'pi-agent/README\.md'"):
        pi_agent_files(directory)


def test_a_lock_that_does_not_fit_is_a_bad_document(tmp_path):
    (tmp_path / "package.json").write_text('{"dependencies": {"left": "1.0.0"}}')
    lock = {"name": "x", "lockfileVersion": 3, "requires": True, "packages": {"": {}}}
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    with pytest.raises(BadDocument, match=r"package-lock\.json"):
        npm_ci(tmp_path)


def test_a_registry_that_cannot_be_reached_is_transient(tmp_path, monkeypatch):
    package = {"version": "1.0.0", "integrity": "sha512-" + "A" * 86 + "=="}
    (tmp_path / "package.json").write_text('{"dependencies": {"left": "1.0.0"}}')
    lock = {
        "lockfileVersion": 3,
        "packages": {"": {"dependencies": {"left": "1.0.0"}}, "node_modules/left": package},
    }
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(Transient, match="registry"):
        npm_ci(tmp_path)


def test_a_directory_without_a_lock_is_missing(tmp_path):
    with pytest.raises(Missing, match=r"package-lock\.json"):
        install(tmp_path, LOG)


def test_a_script_that_fails_says_why(tmp_path):
    script = tmp_path / "bad.mjs"
    script.write_text("throw new Error('no such thing')\n")
    with pytest.raises(RuntimeError, match="no such thing"):
        run_script(script)
