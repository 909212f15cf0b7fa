"""The check of a kit-python candidate's Python: it parses, and what it imports is there. No line of it is run."""

import ast
import sys
from collections.abc import Iterator, Sequence

from wmo_harness.python_runtime import RUNTIME_PATH
from wmo_harness.source_tree import SourceTree


def python_problems(tree: SourceTree) -> Sequence[str]:
    """Give every problem of the tree's .py files. runtime.py is parsed with the tree, so only its imports count here.

    Imports inside functions and blocks are left alone: code can provide for their failure.
    """
    sources = {file.path: file.content for file in tree.files if file.path.endswith(".py")}
    ours = {path.partition("/")[0].removesuffix(".py") for path in sources}
    problems: list[str] = []
    for path, text in sources.items():
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if path != RUNTIME_PATH:
                problems.append(f"cannot parse '{path}': {error}")
            continue
        for name in _imported(module):
            if name not in ours and name not in sys.stdlib_module_names:
                problems.append(f"'{path}' imports '{name}': neither the standard library nor the tree has it")
    return problems


def _imported(module: ast.Module) -> Iterator[str]:
    """Give the first name of every absolute import at the top level."""
    for statement in module.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
            yield statement.module.partition(".")[0]
