"""`config.toml`: the one table [harness], its five keys, and its canonical text."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wmo_harness.errors import BadHarness
from wmo_harness.tool_policy import KNOWN_TOOLS, SUBMIT

CONFIG_PATH = "config.toml"
TABLE = "harness"
RuntimeKind = Literal["kit-python", "pi-node"]
DEFAULT_RUNTIME_KIND: RuntimeKind = "kit-python"
"""The reference's own default: naming it says nothing, so it has no surface."""
MAX_TEMPERATURE = 2
CONFIG_KINDS = ("tool_policy", "param")
_SURFACE_IDS = {
    "tools": "tool_policy:main",
    "max_turns": "param:max-turns",
    "max_output_tokens": "param:max-output-tokens",
    "temperature": "param:temperature",
    "runtime_kind": "param:runtime-kind",
}


@dataclass(frozen=True)
class HarnessConfig:
    """What the file says; None where it says nothing.

    `temperature` keeps its TOML type: `1` and `1.0` are the same setting and two surface contents.
    """

    tools: tuple[str, ...] | None = None
    max_turns: int | None = None
    max_output_tokens: int | None = None
    temperature: int | float | None = None
    runtime_kind: RuntimeKind | None = None


def parse_config(text: str) -> HarnessConfig:
    """Parse the file; empty text says nothing. Raises BadHarness that names the table or the key."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: TOMLDecodeError, and integers of thousands of digits
        raise BadHarness(f"cannot read '{CONFIG_PATH}': {error}") from error
    for table in document:
        if table != TABLE:
            raise BadHarness(f"unknown table '{table}' in '{CONFIG_PATH}': only [{TABLE}] is known")
    values = document.get(TABLE, {})
    if not isinstance(values, dict):
        raise BadHarness(f"'{TABLE}' in '{CONFIG_PATH}' must be a table")
    for key in values:
        if key not in _CHECKS:
            raise BadHarness(f"unknown key '{key}' in '{CONFIG_PATH}': known are {', '.join(_CHECKS)}")
    return HarnessConfig(**{key: _CHECKS[key](key, value) for key, value in values.items()})


def render_config(config: HarnessConfig) -> str:
    """Give the canonical text of what `config` says, keys in the order of the class; "" where it says nothing."""
    lines = [
        f"{key} = {json.dumps(list(value) if isinstance(value, tuple) else value)}"
        for key in _CHECKS
        if (value := getattr(config, key)) is not None
    ]
    return "\n".join([f"[{TABLE}]", *lines, ""]) if lines else ""


def config_contents(config: HarnessConfig) -> dict[str, str]:
    """Give the surfaces of `config`, {id: content}: tools one a line, integers by `str`, floats by `repr`."""
    values = {key: getattr(config, key) for key in _SURFACE_IDS}
    return {
        _SURFACE_IDS[key]: "\n".join(value) if isinstance(value, tuple) else str(value)
        for key, value in values.items()
        if value is not None and value != DEFAULT_RUNTIME_KIND
    }


def config_from_contents(contents: Mapping[str, str]) -> HarnessConfig:
    """Read surfaces {id: content} back. Raises BadHarness for an unknown id or a value that the file could not have."""
    keys = {surface_id: key for key, surface_id in _SURFACE_IDS.items()}
    lines = [f"[{TABLE}]"]
    for surface_id, content in contents.items():
        if surface_id not in keys:
            raise BadHarness(f"unknown surface '{surface_id}': known are {', '.join(keys)}")
        key = keys[surface_id]
        lines.append(f"{key} = {_toml_value(key, content)}")
    return parse_config("\n".join(lines))  # TOML's parser and the checks of the file judge every value


def _toml_value(key: str, content: str) -> str:
    if key == "tools":
        return json.dumps(content.split("\n"))
    return json.dumps(content) if key == "runtime_kind" else content


def check_tools(key: str, value: object) -> tuple[str, ...]:
    """Give a list of known tool names with `submit`, none twice. Raises BadHarness that names `key`."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _bad(key, "must be a list of tool names")
    for name in value:
        if name not in KNOWN_TOOLS:
            raise _bad(key, f"names the unknown tool '{name}': known are {', '.join(KNOWN_TOOLS)}")
        if value.count(name) > 1:
            raise _bad(key, f"names '{name}' twice")
    if SUBMIT not in value:
        raise _bad(key, f"must name '{SUBMIT}': without it no task can end")
    return tuple(value)


def check_count(key: str, value: object) -> int:
    """Give an integer >= 1 (`true` is none). Raises BadHarness that names `key`."""
    if type(value) is not int or value < 1:
        raise _bad(key, "must be an integer of 1 or more")
    return value


def check_temperature(key: str, value: object) -> int | float:
    """Give a number in [0, 2], its type kept. Raises BadHarness that names `key`."""
    if type(value) not in (int, float) or not 0 <= value <= MAX_TEMPERATURE:  # type: ignore[operator]
        raise _bad(key, f"must be a number from 0 to {MAX_TEMPERATURE}")
    return value  # type: ignore[return-value]


def check_runtime_kind(key: str, value: object) -> RuntimeKind:
    """Give "kit-python" or "pi-node". Raises BadHarness that names `key`."""
    if value not in ("kit-python", "pi-node"):
        raise _bad(key, "must be 'kit-python' or 'pi-node'")
    return value


def _bad(key: str, problem: str) -> BadHarness:
    return BadHarness(f"bad '{key}' in '{CONFIG_PATH}': it {problem}")


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "tools": check_tools,
    "max_turns": check_count,
    "max_output_tokens": check_count,
    "temperature": check_temperature,
    "runtime_kind": check_runtime_kind,
}
