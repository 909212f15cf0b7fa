"""`runtime.py`, the agent loop of harnesses of kind "kit-python": parsed, never run."""

import ast

from wmo_harness.errors import BadHarness

RUNTIME_PATH = "runtime.py"


def check_runtime(text: str) -> None:
    """Raise BadHarness where `text` is not Python with a function `run` at its top level."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: nesting beyond the parser
        raise BadHarness(f"cannot parse '{RUNTIME_PATH}': {error}") from error
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    if not any(isinstance(statement, functions) and statement.name == "run" for statement in module.body):
        raise BadHarness(f"'{RUNTIME_PATH}' has no function 'run' at its top level: define 'def run(kit)'")
