"""Configuration, resolved once at start: flag > environment WMO_* > wmo.toml > default, into one frozen model.

This is the only module of the project that reads the environment for settings.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from wmo_contracts.pricing import Price, check_prices
from wmo_contracts.run import EndpointSettings, ModelSettings

from wmo_kit.base_url import host_of
from wmo_kit.errors import BadDocument, Conflict, Missing
from wmo_kit.written import first_problem

Role = Literal["worker", "proposer", "world", "judge"]
ROLES: tuple[Role, ...] = ("worker", "proposer", "world", "judge")
OFFLINE = "offline"
"""The base_url that stands for a private `wmo-offline` server, started by the tool that needs it."""
CONFIG_NAME = "wmo.toml"
KEY_VARIABLE = "WMO_API_KEY"


class _Written(BaseModel):
    """Hand-written configuration forbids what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Endpoint(_Written):
    """One model at one address. `api_key_env` names the variable that holds the key; the key itself is never kept.

    An empty `api_key_env` sends no key. `timeout_s` bounds one try, in seconds. Prices are for a million tokens, in
    any one currency; without a `price_cached`, cached tokens cost as much as others.
    """

    base_url: str = OFFLINE
    model: str
    api_key_env: str = KEY_VARIABLE
    context_window: Annotated[int, Field(ge=1)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 300.0
    price_in: Price = None
    price_out: Price = None
    price_cached: Price = None

    @model_validator(mode="after")
    def _whole_prices(self) -> Self:
        check_prices(self.price_in, self.price_out, self.price_cached)
        return self

    def recorded(self) -> EndpointSettings:
        """Give what a run records of this endpoint."""
        return EndpointSettings(**{name: getattr(self, name) for name in EndpointSettings.model_fields})


class RoleModel(Endpoint):
    """A role's model: its first endpoint, and those that are asked in turn where it does not answer.

    In wmo.toml a table, a list of tables, or a table whose only key is such a list, `endpoints`.
    """

    fallbacks: tuple[Endpoint, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_any_form(cls, value: Any) -> Any:
        if isinstance(value, Endpoint) and not isinstance(value, cls):
            return value.model_dump()
        if isinstance(value, dict) and isinstance(value.get("fallbacks"), list):
            return {**value, "fallbacks": tuple(value["fallbacks"])}
        listed = value.get("endpoints") if isinstance(value, dict) else value
        if not isinstance(listed, list):
            return value
        if isinstance(value, dict) and len(value) > 1:
            raise ValueError("write its keys in its 'endpoints', each in the table of its endpoint")
        if not listed or not all(isinstance(endpoint, dict) and "fallbacks" not in endpoint for endpoint in listed):
            raise ValueError("list one endpoint or more, each a table")
        return {**listed[0], "fallbacks": tuple(listed[1:])}

    @model_validator(mode="after")
    def _offline_alone(self) -> Self:
        if self.fallbacks and any(endpoint.simulated for endpoint in self.settings().endpoints):
            raise ValueError("the offline model stands alone: a simulation must not fill in for a real model")
        return self

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All endpoints, in the order in which they are asked."""
        first = {name: getattr(self, name) for name in Endpoint.model_fields}
        return (Endpoint(**first), *self.fallbacks)

    def settings(self) -> ModelSettings:
        """Give what a run records of this role's model."""
        first, *others = (one.recorded() for one in self.endpoints)
        return ModelSettings(**first.model_dump(), fallbacks=tuple(others))

    def as_recorded(self, recorded: ModelSettings) -> "RoleModel":
        """Give the model that a run records; what a record leaves out is ours, where ours is the same model."""
        ours = {(one.base_url, one.model): one for one in self.endpoints}
        first, *others = (
            ours.get((one.base_url, one.model), Endpoint(model=one.model)).model_copy(
                update={name: getattr(one, name) for name in EndpointSettings.model_fields}
            )
            for one in recorded.endpoints
        )
        return RoleModel(**first.model_dump(), fallbacks=tuple(others))


class Roles(_Written):
    """Every role's model; by default the offline model's personas."""

    worker: RoleModel = RoleModel(model="offline-worker")
    proposer: RoleModel = RoleModel(model="offline-optimizer")
    world: RoleModel = RoleModel(model="offline-world")
    judge: RoleModel = RoleModel(model="offline-judge")

    @model_validator(mode="after")
    def _one_judge(self) -> Self:
        if self.judge.fallbacks:
            raise ValueError("the judge has one endpoint: a verdict must not change its author in the middle of a run")
        return self

    def get(self, role: Role) -> RoleModel:
        """Give the model of a role."""
        models: dict[Role, RoleModel] = {
            "worker": self.worker,
            "proposer": self.proposer,
            "world": self.world,
            "judge": self.judge,
        }
        return models[role]


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
        problem = first_problem(error, Config, hidden=["fallbacks"])
        raise BadDocument(f"bad configuration in '{path or 'the environment'}': {problem}") from error


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
    return {role: {"base_url": base_url, "model": model} for role in ROLES}


def models_source(environ: Mapping[str, str] | None = None) -> str:
    """Say in words what to change for other models than the configured ones."""
    environment = os.environ if environ is None else environ
    if environment.get("WMO_MODEL"):
        return "unset WMO_BASE_URL and WMO_MODEL"
    return f"change its role in '{CONFIG_NAME}'"


def api_key(endpoint: Endpoint, role: Role, environ: Mapping[str, str] | None = None) -> str:
    """Give the key of an endpoint that plays `role`, "" where it has none.

    Raises Conflict for a base URL that is none, Missing where the key's variable is not set.
    """
    if endpoint.base_url == OFFLINE:
        return ""
    host_of(endpoint.base_url)
    if not endpoint.api_key_env:
        return ""
    key = (os.environ if environ is None else environ).get(endpoint.api_key_env, "")
    if not key:
        raise Missing(
            f"no API key for '{endpoint.base_url}', the {role}: set the variable '{endpoint.api_key_env}' "
            f"(where the server asks for none, any text; or 'api_key_env = \"\"' for the role in '{CONFIG_NAME}')"
        )
    return key
