"""The dependency direction of ARCHITECTURE.md, read from the imports themselves; there is no exceptions list."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW = {
    "wmo_contracts": set(),
    "wmo_kit": {"wmo_contracts"},
    "wmo_harness": {"wmo_contracts", "wmo_kit"},
    "wmo_population": {"wmo_contracts", "wmo_kit", "wmo_harness"},
    "wmo_models": {"wmo_contracts", "wmo_kit", "wmo_harness"},
    "wmo_suites": {"wmo_contracts", "wmo_kit", "wmo_harness"},
}
BELOW["wmo_episode"] = set(BELOW)
PACKAGES = set(BELOW)
MODULES = sorted([*ROOT.glob("packages/*/src/*"), *ROOT.glob("tools/*/src/*")])


def imported(path: Path) -> set[str]:
    """Give the top-level names that a file imports, at any depth of its code."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_only_what_lies_below_is_imported(module):
    allowed = BELOW.get(module.name, PACKAGES) | {module.name}
    for path in module.rglob("*.py"):
        ours = {name for name in imported(path) if name.startswith("wmo_")}
        assert ours <= allowed, f"{path.relative_to(ROOT)} imports {sorted(ours - allowed)}"


def test_the_task_file_imports_no_package():
    assert not {name for name in imported(ROOT / "tasks.py") if name.startswith("wmo_")}


@pytest.mark.parametrize("module", [m for m in MODULES if m.name not in PACKAGES], ids=lambda module: module.name)
def test_a_command_line_loads_only_click_and_the_frame(module):
    """`--help` must cost no more than click: the work is imported inside the command."""
    tree = ast.parse((module / "cli.py").read_text("utf-8"))
    top = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    stdlib_ok = {"pathlib", "sys", "click", "collections.abc"}
    assert {name for name in top if not name.startswith("wmo_kit.cli")} <= stdlib_ok | {"wmo_kit.log", "wmo_kit.errors"}
