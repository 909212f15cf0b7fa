"""Configuration: precedence, refusals, and that no key is ever kept."""

import pytest
from wmo_kit.config import Config, api_key, load_config
from wmo_kit.errors import BadDocument, Conflict, Missing


def test_the_default_is_the_offline_model(tmp_path):
    config = load_config(environ={}, directory=tmp_path)
    assert config == Config()
    assert config.roles.worker.base_url == "offline"
    assert api_key(config.roles.worker, {}) == ""


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
        ("vendro = 'x'\n", "'vendro': unknown key"),
        ("[roles.worker]\nmodle = 'a'\n", "'roles.worker.modle': unknown key"),
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
    assert api_key(config.roles.worker, environ) == "sk-secret"
    assert "sk-secret" not in config.model_dump_json() + repr(config)
    with pytest.raises(Missing, match="WMO_API_KEY"):
        api_key(config.roles.worker, {})


def test_the_file_is_found_from_a_folder_below(tmp_path):
    (tmp_path / "wmo.toml").write_text("[roles.worker]\nmodel = 'm'\n")
    (tmp_path / "deep/er").mkdir(parents=True)
    assert load_config(environ={}, directory=tmp_path / "deep/er").roles.worker.model == "m"
