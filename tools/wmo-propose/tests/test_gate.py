"""The gate on real node: what passes, and every reason why something does not."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import HarnessSpec, doc_hash, parse_tree
from wmo_harness.tree_io import write_tree
from wmo_propose.gate import Checked, check_candidate
from wmo_propose.source_check import SourceGate

VENDOR = find_vendor_dir(None, Path(__file__))
AGENT = "export class Agent {}\n"
SMALL = {"SYSTEM.md": "Work.\n", "config.toml": '[harness]\nruntime_kind = "pi-node"\n', "src/index.ts": AGENT}

SEED = parse_tree(seed_tree(VENDOR))


def no_leaks(_tree: SourceTree) -> Sequence[str]:
    return ()


class Desk:
    """A candidate folder and the gate in front of it."""

    def __init__(self, folder: Path) -> None:
        self.candidate = folder / "candidate"
        self.gate = SourceGate(VENDOR / "runtime", "bwrap", folder, threading.Event())

    def check(self, files: dict[str, str], turn_problem: str = "", seed: HarnessSpec = SEED) -> Checked:
        write_tree(SourceTree.from_mapping(files), self.candidate)
        return self.look(turn_problem, seed)

    def look(self, turn_problem: str = "", seed: HarnessSpec = SEED) -> Checked:
        return check_candidate(self.candidate, seed, turn_problem, self.gate, no_leaks)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def with_files(files: dict[str, str], index: str = "") -> dict[str, str]:
    return {**SMALL, "src/index.ts": AGENT + index, **files}


def test_the_seed_passes_when_anything_is_changed(desk: Desk) -> None:
    seed = seed_tree(VENDOR)
    changed = desk.check({**seed.as_mapping(), "SYSTEM.md": "Other words.\n"})
    assert changed.reasons == ()
    assert changed.accepted
    assert changed.tree is not None
    assert changed.doc_hash == doc_hash(parse_tree(changed.tree))


def test_an_unchanged_seed_is_rejected(desk: Desk) -> None:
    write_tree(SourceTree.from_mapping(SMALL), desk.candidate)
    small = parse_tree(SourceTree.from_mapping(SMALL))
    assert check_candidate(desk.candidate, small, "", desk.gate, no_leaks).reasons == ("no change against the seed",)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("const x: = 3;", "does not parse: Unexpected token"),
        ("enum Mode { a }", "does not parse: TypeScript enum is not supported"),
        ("class A { constructor(private x: number) {} }", "parameter property is not supported"),
    ],
)
def test_a_file_that_node_cannot_strip_is_rejected_even_where_nothing_imports_it(
    desk: Desk, source: str, reason: str
) -> None:
    (found,) = desk.check(with_files({"src/unused.ts": source})).reasons
    assert found.startswith("'src/unused.ts'")
    assert reason in found


@pytest.mark.parametrize("name", ["a.js", "a.mjs", "a.cjs", "a.mts", "a.cts"])
def test_every_kind_of_source_file_is_parsed(desk: Desk, name: str) -> None:
    (found,) = desk.check(with_files({name: "let {a"})).reasons
    assert found.startswith(f"'{name}' does not parse")


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        ('import "./nope.ts";', "imports './nope.ts': the tree has no such file"),
        ('import { type Q } from "./nope.ts";', "imports './nope.ts': the tree has no such file"),
        ('import "./other";', "imports './other': the tree has no such file (name it with its extension)"),
        ('import "../src";', "imports '../src': it is a directory"),
        (
            'import "lodash";',
            "imports 'lodash': there is no such package; available are node's own modules and @earend",
        ),
        ('import "yaml/dist/x.js";', "imports 'yaml/dist/x.js': Package subpath './dist/x.js' is not defined"),
        ('import "node:nope";', "imports 'node:nope': node has no such module"),
        ('import "../../entry.ts";', "imports '../../entry.ts': it lies outside the candidate's tree"),
        ('import "/etc/passwd";', "imports '/etc/passwd': it lies outside the candidate's tree"),
        ('import "data:text/javascript,1";', "it lies outside the candidate's tree"),
        ('import "wmo-gate:stop";', "it lies outside the candidate's tree"),
        ('import { nope } from "./other.ts";', "does not link: The requested module './other.ts' does not provide an"),
        ('import { nope } from "yaml";', "does not link: The requested module 'yaml' does not provide an"),
        ('import { Shape } from "./other.ts";', "does not provide an export named 'Shape'"),
    ],
)
def test_an_import_that_does_not_resolve_is_named(desk: Desk, index: str, reason: str) -> None:
    other = {"src/other.ts": "export interface Shape {}\nexport const one = 1;\n"}
    (found,) = desk.check(with_files(other, index)).reasons
    assert found.startswith("'src/index.ts' ")
    assert reason in found


def test_sound_imports_pass(desk: Desk) -> None:
    index = """
import { readFile } from "node:fs/promises";
import path from "path";
import { Type } from "typebox";
import { parse } from "yaml";
import ignore from "ignore";
import { stream } from "@earendil-works/pi-ai/compat";
import type { Gone } from "./not-there.ts";
import { there, type Shape } from "./other.ts";
import words from "./words.json" with { type: "json" };
import old from "./old.cjs";
"""
    files = {
        "src/other.ts": 'import "./index.ts";\nexport interface Shape {}\nexport const there = 1;\n',
        "src/words.json": "{}",
        "src/old.cjs": "module.exports = 1;\n",
    }
    assert desk.check(with_files(files, index)).reasons == ()


def test_no_line_of_the_candidate_is_run(desk: Desk) -> None:
    shout = 'import { writeSync } from "node:fs";\nwriteSync(1, "RAN");\nprocess.exit(7);\n'
    files = {
        "src/a.ts": shout,
        "src/b.cjs": "process.exit(7);\n",
        "src/c.ts": "await new Promise(() => {});\n",
    }
    index = 'import "./a.ts";\nimport "./b.cjs";\nimport "./c.ts";\nprocess.exit(7);\n'
    assert desk.check(with_files(files, index)).reasons == ()


def test_types_in_a_js_file_that_is_imported_are_rejected(desk: Desk) -> None:
    (found,) = desk.check(with_files({"src/a.js": "export const a: number = 1;\n"}, 'import "./a.js";')).reasons
    assert found == "'src/a.js' does not parse: TypeScript syntax belongs in a .ts file"


def test_a_missing_entry_and_an_entry_without_the_agent_are_named(desk: Desk) -> None:
    no_entry = {name: text for name, text in SMALL.items() if name != "src/index.ts"}
    assert desk.check(no_entry).reasons == ("'src/index.ts' is missing: it is the agent's entry",)
    (found,) = desk.check({**SMALL, "src/index.ts": "export const agent = 1;\n"}).reasons
    assert "does not provide an export named 'Agent'" in found


def test_a_kit_python_candidate_needs_no_entry_but_its_sources_must_parse(desk: Desk) -> None:
    seed = parse_tree(SourceTree.from_mapping({"SYSTEM.md": "The seed, also without a config.toml.\n"}))
    python = {"SYSTEM.md": "Work.\n", "runtime.py": "def run(kit):\n    pass\n"}
    assert desk.check(python, seed=seed).reasons == ()
    assert "cannot parse 'runtime.py'" in desk.check({**python, "runtime.py": "def run(:\n"}, seed=seed).reasons[0]
    assert "'a.ts' does not parse" in desk.check({**python, "a.ts": "let {"}, seed=seed).reasons[0]
    assert "cannot parse 'lib/a.py'" in desk.check({**python, "lib/a.py": "def f(:\n"}, seed=seed).reasons[0]


def test_a_kit_python_candidate_imports_the_standard_library_and_its_own_files(desk: Desk) -> None:
    seed = parse_tree(SourceTree.from_mapping({"SYSTEM.md": "The seed.\n"}))
    python = {"SYSTEM.md": "Work.\n", "lib.py": "import re\n", "tools/parse.py": "from lib import re\n"}
    imports = "import json, lib\nfrom tools.parse import re\nfrom os.path import join\n"
    imports += "try:\n    import yaml\nexcept ImportError:\n    pass\n"
    run = "def run(kit):\n    pass\n"
    assert desk.check({**python, "runtime.py": imports + run}, seed=seed).reasons == ()
    (found,) = desk.check({**python, "runtime.py": "import requests.auth\n" + run}, seed=seed).reasons
    assert found == "'runtime.py' imports 'requests': neither the standard library nor the tree has it"


def test_every_reason_is_given_at_once(desk: Desk) -> None:
    files = with_files({"src/bad.ts": "let {", "config.toml": "[harness]\nturns = 3\n"}, 'import "./nope.ts";')
    write_tree(SourceTree.from_mapping(files), desk.candidate)
    (desk.candidate / "has space.md").write_text("x")
    (desk.candidate / "latin.md").write_bytes(b"\xe9")
    (desk.candidate / "nul.md").write_bytes(b"a\0b")
    (desk.candidate / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(desk.candidate / "pipe.md")
    found = desk.look("the agent did not submit")
    assert found.reasons[0] == "the agent did not submit"
    text = "\n".join(found.reasons)
    for part in ("bad path 'has space.md'", "'latin.md': not UTF-8 at byte 0", "'nul.md': it holds a NUL",
                 "symlink in a tree: 'link.md'", "not a regular file: 'pipe.md'", "unknown key 'turns'",
                 "'src/bad.ts' does not parse", "imports './nope.ts'"):  # fmt: skip
        assert part in text
    assert len(found.reasons) == 9
    assert found.tree is not None
    assert sorted(found.tree.as_mapping()) == sorted(files)


def test_a_leak_is_a_reason_beside_the_others(desk: Desk) -> None:
    write_tree(SourceTree.from_mapping({**SMALL, "src/bad.ts": "let {"}), desk.candidate)

    def leaks(tree: SourceTree) -> Sequence[str]:
        return sorted(tree.as_mapping())

    found = check_candidate(desk.candidate, SEED, "", desk.gate, leaks)
    assert found.reasons[0].startswith("'src/bad.ts' does not parse")
    assert found.reasons[1:] == ("SYSTEM.md", "config.toml", "src/bad.ts", "src/index.ts")


def test_bad_names_are_rejected(desk: Desk) -> None:
    assert "no kebab-case id" in desk.check(with_files({"src/Tool.ts": ""})).reasons[0]
    assert "no kebab-case id" in desk.check(with_files({"src/tool_loop.ts": ""})).reasons[0]
    assert "map to one id" in desk.check(with_files({"src/a-b.ts": "", "src/a/b.ts": ""})).reasons[0]
    write_tree(SourceTree.from_mapping(SMALL), desk.candidate)
    (desk.candidate / "system.md").write_text("x")
    found = desk.look()
    assert found.reasons == ("paths differ only by letter case: 'SYSTEM.md' and 'system.md'",)
    assert found.tree is None


def test_bounds_end_the_reading(desk: Desk) -> None:
    write_tree(SourceTree.from_mapping(SMALL), desk.candidate)
    for number in range(1022):
        (desk.candidate / f"n{number}.md").touch()
    (found,) = desk.look().reasons
    assert found == "too many files: 'src/index.ts' is one more than the 1024 that are allowed"
    big = desk.check(with_files({"notes.md": "x" * (8 * 1024 * 1024)}))
    assert big.reasons == ("tree too large: 'notes.md' goes past 8388608 bytes",)


def test_folders_without_end_are_a_reason(desk: Desk) -> None:
    write_tree(SourceTree.from_mapping(with_files({})), desk.candidate)
    (desk.candidate / "/".join(["deep"] * 220)).mkdir(parents=True)
    (found,) = desk.look().reasons
    assert found.startswith("path too long: 'deep/deep/")


def test_a_folder_that_is_gone_or_a_link_is_a_reason(desk: Desk, tmp_path: Path) -> None:
    assert desk.look().reasons[0] == "the folder 'candidate' is gone"
    desk.candidate.symlink_to(tmp_path)
    assert desk.look().reasons[0] == "the folder 'candidate' is gone"


def test_another_runtime_than_the_seeds_is_rejected(desk: Desk) -> None:
    mapping = seed_tree(VENDOR).as_mapping()
    config = mapping["config.toml"].replace('runtime_kind = "pi-node"', 'runtime_kind = "kit-python"')
    (reason,) = desk.check({**mapping, "config.toml": config}).reasons
    assert "'kit-python'" in reason
    assert "'pi-node'" in reason
