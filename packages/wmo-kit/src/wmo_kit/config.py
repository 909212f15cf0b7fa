"""Configuration, resolved once at start: flag > environment WMO_* > wmo.toml > default, into one frozen model.

This is the only module of the project that reads the environment for settings.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from wmo_contracts.run import ModelSettings

from wmo_kit.errors import BadDocument, Conflict, Missing

Role = Literal["worker", "proposer"]
OFFLINE = "offline"
"""The base_url that stands for a private `wmo-offline` server, started by the tool that needs it."""
CONFIG_NAME = "wmo.toml"
KEY_VARIABLE = "WMO_API_KEY"


class _Written(BaseModel):
    """Hand-written configuration forbids what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Endpoint(_Written):
    """One role's model. `api_key_env` names the variable that holds the key; the key itself is never kept."""

    base_url: str = OFFLINE
    model: str
    api_key_env: str = KEY_VARIABLE
    context_window: int | None = None

    def settings(self) -> ModelSettings:
        """Give what a run records of this endpoint."""
        return ModelSettings(base_url=self.base_url, model=self.model, api_key_env=self.api_key_env)


class Roles(_Written):
    """Every role's endpoint; by default the offline model's personas."""

    worker: Endpoint = Endpoint(model="offline-worker")
    proposer: Endpoint = Endpoint(model="offline-optimizer")

    def get(self, role: Role) -> Endpoint:
        """Give the endpoint of a role."""
        return self.worker if role == "worker" else self.proposer


class Config(_Written):
    """The whole configuration. `vendor` None means: look for it (see wmo_harness.pi_agent)."""

    roles: Roles = Roles()
    vendor: Path | None = None


def load_config(
    *, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, directory: Path | None = None
) -> Config:
    """Resolve the configuration.

    `flags` are the command line's own settings by key (`vendor`); None values do not count. `environ` defaults to the
    process environment; wmo.toml is looked for in `directory` (default: the current one) and above it. Raises
    BadDocument for a malformed file, Conflict for an environment that contradicts itself.
    """
    environment = os.environ if environ is None else environ
    start = (directory or Path()).absolute()
    path = next((folder / CONFIG_NAME for folder in (start, *start.parents) if (folder / CONFIG_NAME).is_file()), None)
    values = _read_toml(path) if path else {}
    if environment.get("WMO_VENDOR"):
        values["vendor"] = environment["WMO_VENDOR"]
    values.update({key: value for key, value in (flags or {}).items() if value is not None})
    if "vendor" in values:
        values["vendor"] = Path(values["vendor"])
    values["roles"] = _apply_environment(values.get("roles", {}), environment)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        # an unknown key first: where a name is misspelt, the right one is missing as well
        first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        where = ".".join(str(part) for part in first["loc"])
        what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].lower()
        raise BadDocument(f"bad configuration in '{path or 'the environment'}': '{where}': {what}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadDocument(f"cannot read '{path}': {error}") from error


def _apply_environment(roles: Any, environment: Mapping[str, str]) -> Any:
    """WMO_BASE_URL and WMO_MODEL set every role at once."""
    base_url, model = environment.get("WMO_BASE_URL"), environment.get("WMO_MODEL")
    if not base_url and not model:
        return roles
    if not base_url or not model:
        present, absent = ("WMO_BASE_URL", "WMO_MODEL") if base_url else ("WMO_MODEL", "WMO_BASE_URL")
        raise Conflict(f"'{present}' is set but '{absent}' is not: set both, or neither for the offline model")
    endpoint = {"base_url": base_url, "model": model}
    return {"worker": endpoint, "proposer": endpoint}


def api_key(endpoint: Endpoint, environ: Mapping[str, str] | None = None) -> str:
    """Give the endpoint's key, "" for the offline model. Raises Missing where its variable is not set."""
    if endpoint.base_url == OFFLINE:
        return ""
    key = (os.environ if environ is None else environ).get(endpoint.api_key_env, "")
    if not key:
        raise Missing(
            f"no API key for '{endpoint.base_url}': set the variable '{endpoint.api_key_env}' "
            "(any text where the server asks for none)"
        )
    return key
