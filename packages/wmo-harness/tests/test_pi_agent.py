"""The vendored pi as `make setup` installs it, and copies of it with something wrong."""

import shutil
from pathlib import Path

import pytest
from wmo_harness.pi_agent import (
    PI_AGENT,
    check_pi_agent,
    find_vendor_dir,
    pi_agent_code_surfaces,
    pi_agent_source_paths,
    read_manifest,
    runtime_dir,
    seed_tree,
)
from wmo_harness.surfaces import parse_tree
from wmo_kit.errors import BadDocument, Missing, Negative

VENDOR = find_vendor_dir(None, Path(__file__).parent)


@pytest.fixture
def copy(tmp_path):
    for name in ("manifest.sha256", "package-lock.json"):
        shutil.copy(VENDOR / name, tmp_path)
    shutil.copytree(VENDOR / PI_AGENT, tmp_path / PI_AGENT)
    return tmp_path


def wrong(vendor):
    return {(file.path, file.status) for file in check_pi_agent(vendor).files if file.status != "ok"}


def test_the_installed_tree_is_upstreams():
    check = check_pi_agent(VENDOR)
    assert check.ok
    assert len(check.files) == 27
    paths = pi_agent_source_paths(VENDOR)
    assert len(paths) == 25
    assert "src/agent-loop.ts" in paths


def test_the_seed_is_pi_with_our_two_files():
    tree = seed_tree(VENDOR)
    assert set(tree.as_mapping()) == {"SYSTEM.md", "config.toml", *pi_agent_source_paths(VENDOR)}
    assert tree.as_mapping()["src/agent.ts"].encode() == (VENDOR / PI_AGENT / "src/agent.ts").read_bytes()
    spec = parse_tree(tree)
    assert spec.runtime_kind == "pi-node"
    assert spec.system == (
        "You are a coding agent in a Linux workspace.\n\n"
        "The user gives you a task. The workspace is at /app. When you have finished, submit your answer.\n"
    )
    assert spec.tools == ("bash", "read_file", "write_file", "submit")
    assert (spec.max_turns, spec.max_output_tokens, spec.temperature) == (20, 4096, 0.7)


def test_the_code_surfaces_are_the_source_files():
    surfaces = pi_agent_code_surfaces(VENDOR)
    assert len(surfaces) == 25
    assert {surface.path for surface in surfaces} == set(pi_agent_source_paths(VENDOR))
    assert surfaces[0].id == "code:src-agent-loop-ts"


def test_a_changed_byte_a_removed_and_an_added_file_are_found(copy):
    agent = copy / PI_AGENT / "src" / "agent.ts"
    agent.write_bytes(b"X" + agent.read_bytes()[1:])
    (copy / PI_AGENT / "src" / "types.ts").unlink()
    (copy / PI_AGENT / "src" / "extra.ts").write_text("")
    assert wrong(copy) == {
        ("pi-agent/src/agent.ts", "changed"),
        ("pi-agent/src/types.ts", "missing"),
        ("pi-agent/src/extra.ts", "unexpected"),
    }
    with pytest.raises(Negative, match=r"changed 'pi-agent/src/agent\.ts', unexpected .*, missing"):
        seed_tree(copy)


def test_a_link_to_an_equal_file_is_a_change(copy):
    agent = copy / PI_AGENT / "src" / "agent.ts"
    agent.unlink()
    agent.symlink_to(VENDOR / PI_AGENT / "src" / "agent.ts")
    assert wrong(copy) == {("pi-agent/src/agent.ts", "changed")}


def test_a_whole_tree_behind_a_link_is_not_the_tree(copy):
    shutil.rmtree(copy / PI_AGENT)
    (copy / PI_AGENT).symlink_to(VENDOR / PI_AGENT)
    assert len(wrong(copy)) == 28
    with pytest.raises(Negative):
        seed_tree(copy)


def test_a_missing_tree_is_missing_and_no_empty_harness(copy):
    shutil.rmtree(copy / PI_AGENT)
    with pytest.raises(Missing, match="wmo-vendor install"):
        seed_tree(copy)


@pytest.mark.parametrize("text", ["é".encode("latin-1"), b"0" * 64 + b"  other/a.ts\n"])
def test_a_manifest_of_other_places_is_refused(copy, text):
    (copy / "manifest.sha256").write_bytes(text)
    with pytest.raises(BadDocument, match=r"manifest\.sha256"):
        read_manifest(copy)


def test_the_runtime_counts_only_with_its_stamp(copy):
    assert (runtime_dir(VENDOR) / "node_modules" / "typebox" / "index.js").is_file()
    (copy / "runtime" / "node_modules").mkdir(parents=True)
    with pytest.raises(Missing, match="wmo-vendor install"):
        runtime_dir(copy)


@pytest.mark.parametrize("damage", ["gone", "changed", "more", "stamp"])
def test_a_damaged_runtime_is_missing_not_an_agent_that_fails(copy, damage):
    runtime = shutil.copytree(VENDOR / "runtime", copy / "runtime")
    assert runtime_dir(copy) == runtime
    module = runtime / "node_modules" / "yaml" / "index.js"
    if damage == "gone":
        module.unlink()
    elif damage == "changed":
        module.write_text("")
    elif damage == "more":
        module.with_name("other.js").write_text("")
    else:
        (runtime / "stamp.json").write_text("[")
    with pytest.raises(Missing, match=r"damaged.*wmo-vendor install"):
        runtime_dir(copy)


def test_the_vendor_directory_is_found_upward_and_in_the_repository(tmp_path):
    near = tmp_path / "vendor"
    near.mkdir()
    shutil.copy(VENDOR / "manifest.sha256", near)
    shutil.copy(VENDOR / "package-lock.json", near)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_vendor_dir(None, below) == near
    assert find_vendor_dir(None, Path("/")) == VENDOR
    assert find_vendor_dir(near, Path("/")) == near
    with pytest.raises(Missing, match="nowhere"):
        find_vendor_dir(tmp_path / "nowhere", below)
