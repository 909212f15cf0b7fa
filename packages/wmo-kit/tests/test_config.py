"""Configuration: precedence, refusals, and that no key is ever kept."""

import pytest
from wmo_contracts.run import ModelSettings
from wmo_kit.config import ROLES, Config, Endpoint, RoleModel, api_key, load_config
from wmo_kit.errors import BadDocument, Conflict, Missing


def test_the_default_is_the_offline_model(tmp_path):
    config = load_config(environ={}, directory=tmp_path)
    assert config == Config()
    assert config.roles.worker.base_url == "offline"
    assert api_key(config.roles.worker, "worker", {}) == ""


def test_flag_beats_environment_beats_file(tmp_path):
    (tmp_path / "wmo.toml").write_text('vendor = "file"\n[roles.worker]\nbase_url = "http://a/v1"\nmodel = "m"\n')
    read = lambda flags, environ: load_config(flags=flags, environ=environ, directory=tmp_path)  # noqa: E731
    assert str(read({"vendor": None}, {}).vendor) == "file"
    assert str(read({}, {"WMO_VENDOR": "env"}).vendor) == "env"
    assert str(read({"vendor": "flag"}, {"WMO_VENDOR": "env"}).vendor) == "flag"
    assert read({}, {}).roles.worker.base_url == "http://a/v1"
    assert read({}, {"WMO_BASE_URL": "http://b/v1", "WMO_MODEL": "n"}).roles.worker.base_url == "http://b/v1"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[roles.worker]\nmodel = 1\n", "roles.worker.model"),
        ("[roles.worker]\nmodel = 'a'\nspeed = 1\n", "roles.worker.speed"),
        ("vendro = 'x'\n", "'vendro': unknown key; there may be roles, vendor"),
        (
            "[roles.worker]\nmodle = 'a'\n",
            "'roles.worker.modle': unknown key; there may be base_url, model, api_key_env, ",
        ),
        ("[roles\n", "wmo.toml"),
        ("roles = 3\n", "roles"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path, text, named):
    (tmp_path / "wmo.toml").write_text(text)
    with pytest.raises(BadDocument, match=named):
        load_config(environ={}, directory=tmp_path)


@pytest.mark.parametrize("present", ["WMO_BASE_URL", "WMO_MODEL"])
def test_half_an_endpoint_is_a_conflict(tmp_path, present):
    with pytest.raises(Conflict, match=present):
        load_config(environ={present: "x"}, directory=tmp_path)


def test_the_key_is_read_from_the_named_variable_and_kept_nowhere(tmp_path):
    environ = {"WMO_BASE_URL": "http://a/v1", "WMO_MODEL": "m", "WMO_API_KEY": "sk-secret"}
    config = load_config(environ=environ, directory=tmp_path)
    assert api_key(config.roles.worker, "worker", environ) == "sk-secret"
    assert "sk-secret" not in config.model_dump_json() + repr(config)
    with pytest.raises(Missing, match="WMO_API_KEY"):
        api_key(config.roles.worker, "worker", {})
    with pytest.raises(Conflict, match="the base URL 'notaurl' is unusable"):
        api_key(Endpoint(base_url="notaurl", model="m"), "judge", {})


def test_the_file_is_found_from_a_folder_below(tmp_path):
    (tmp_path / "wmo.toml").write_text("[roles.worker]\nmodel = 'm'\n")
    (tmp_path / "deep/er").mkdir(parents=True)
    assert load_config(environ={}, directory=tmp_path / "deep/er").roles.worker.model == "m"


A = {"base_url": "http://a/v1", "model": "m", "api_key_env": "A_KEY", "timeout_s": 20}
B = {"base_url": "http://b/v1", "model": "n"}
TABLE_A = 'base_url = "http://a/v1"\nmodel = "m"\napi_key_env = "A_KEY"\ntimeout_s = 20\n'
TABLE_B = 'base_url = "http://b/v1"\nmodel = "n"\n'


@pytest.mark.parametrize(
    "text",
    [
        f"[[roles.worker]]\n{TABLE_A}[[roles.worker]]\n{TABLE_B}",
        f"[[roles.worker.endpoints]]\n{TABLE_A}[[roles.worker.endpoints]]\n{TABLE_B}",
        f"[roles.worker]\n{TABLE_A}[[roles.worker.fallbacks]]\n{TABLE_B}",
    ],
)
def test_a_role_may_list_several_endpoints(tmp_path, text):
    (tmp_path / "wmo.toml").write_text(text)
    worker = load_config(environ={}, directory=tmp_path).roles.worker
    assert worker.endpoints == (Endpoint(**A), Endpoint(**B))
    assert (worker.base_url, worker.model) == ("http://a/v1", "m")


def test_one_endpoint_is_a_list_of_one(tmp_path):
    (tmp_path / "wmo.toml").write_text(f"[roles.worker]\n{TABLE_A}")
    assert load_config(environ={}, directory=tmp_path).roles.worker.endpoints == (Endpoint(**A),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"[[roles.judge]]\n{TABLE_A}[[roles.judge]]\n{TABLE_B}", "the judge has one endpoint"),
        (f"[[roles.worker]]\n{TABLE_A}[[roles.worker]]\nmodel = 'offline-worker'\n", "the offline model stands alone"),
        (f"[[roles.worker]]\n{TABLE_A}[[roles.worker]]\nbase_url = 'http://c/v1'\nmodel = 'offline-worker'\n", "alone"),
        (f"[roles.worker]\n{TABLE_A}[[roles.worker.endpoints]]\n{TABLE_B}", "'roles.worker': write its keys"),
        ("[roles]\nworker = []\n", "list one endpoint or more"),
        ("[roles]\nworker = ['x']\n", "list one endpoint or more"),
        (
            f"[[roles.worker]]\n{TABLE_A}[[roles.worker]]\nmodle = 'n'\n",
            "'roles.worker.fallbacks.0.modle': unknown key",
        ),
        (f"[[roles.worker]]\n{TABLE_A}[roles.world]\nmodel = 'm'\ntimeout_s = 0\n", "roles.world.timeout_s"),
    ],
)
def test_a_waterfall_that_cannot_be_is_refused(tmp_path, text, words):
    (tmp_path / "wmo.toml").write_text(text)
    with pytest.raises(BadDocument, match=words):
        load_config(environ={}, directory=tmp_path)


def test_the_environment_sets_every_role(tmp_path):
    (tmp_path / "wmo.toml").write_text(f"[[roles.worker]]\n{TABLE_A}[[roles.worker]]\n{TABLE_B}")
    roles = load_config(environ={"WMO_BASE_URL": "http://c/v1", "WMO_MODEL": "o"}, directory=tmp_path).roles
    assert {roles.get(role).endpoints for role in ROLES} == {(Endpoint(base_url="http://c/v1", model="o"),)}


def test_a_record_has_every_endpoint_and_gets_its_other_settings_back():
    role = RoleModel(**A, context_window=9000, fallbacks=(Endpoint(**B),))
    recorded = role.settings()
    assert [(one.base_url, one.model, one.api_key_env) for one in recorded.endpoints] == [
        ("http://a/v1", "m", "A_KEY"),
        ("http://b/v1", "n", "WMO_API_KEY"),
    ]
    assert ModelSettings.model_validate_json(recorded.model_dump_json()) == recorded
    assert role.as_recorded(recorded) == role
    other = RoleModel(model="offline-worker").as_recorded(recorded)
    assert other.settings() == recorded
    assert (other.context_window, other.timeout_s) == (None, 300.0)


def test_a_record_of_one_endpoint_is_read_as_it_was_written_before():
    old = ModelSettings.model_validate({"base_url": "http://a/v1", "model": "m", "api_key_env": "A_KEY"})
    assert old.endpoints == (old,)


def test_a_server_without_keys_needs_no_variable():
    assert api_key(Endpoint(base_url="http://a/v1", model="m", api_key_env=""), "judge", {}) == ""


def test_prices_are_recorded_and_a_record_has_its_own(tmp_path):
    prices = "price_in = 3\nprice_out = 15.0\nprice_cached = 0.3\n"
    (tmp_path / "wmo.toml").write_text(f"[roles.worker]\n{TABLE_A}{prices}")
    worker = load_config(environ={}, directory=tmp_path).roles.worker
    assert (worker.price_in, worker.price_out, worker.price_cached) == (3, 15, 0.3)
    recorded = worker.settings()
    assert (recorded.price_in, recorded.price_out, recorded.price_cached) == (3, 15, 0.3)
    assert RoleModel(**A).as_recorded(recorded) == worker


@pytest.mark.parametrize("prices", ["price_in = 3", "price_out = 3", "price_cached = 1", "price_in = -1"])
def test_half_a_price_and_one_below_nothing_are_refused(tmp_path, prices):
    (tmp_path / "wmo.toml").write_text(f"[roles.worker]\n{TABLE_A}{prices}\n")
    with pytest.raises(BadDocument, match="price"):
        load_config(environ={}, directory=tmp_path)
