import json

import pytest
from wmo_kit.errors import BadDocument, Missing
from wmo_vendor.source_maps import map_sources, package_sources


def source_map(**changes):
    return {"version": 3, "sources": ["../src/a.ts"], "sourcesContent": ["a\r\n é"], "mappings": ""} | changes


@pytest.fixture
def package(tmp_path):
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "dist" / "deep").mkdir(parents=True)
    (tmp_path / "dist" / "a.js.map").write_text(json.dumps(source_map()))
    deep = source_map(sources=["../../src/deep/b.ts", "../../src/a.ts"], sourcesContent=["", "a\r\n é"])
    (tmp_path / "dist" / "deep" / "b.js.map").write_text(json.dumps(deep))
    (tmp_path / "dist" / "a.d.ts.map").write_text("declaration maps are not read")
    return tmp_path


def test_sources_come_out_byte_for_byte(package):
    assert package_sources(package) == {"src/a.ts": "a\r\n é".encode(), "src/deep/b.ts": b""}


def test_the_source_root_counts():
    assert map_sources(source_map(sourceRoot="../src/", sources=["a.ts"]), "dist", "m") == {
        "src/a.ts": "a\r\n é".encode()
    }


def test_maps_that_disagree_are_refused(package):
    (package / "dist" / "z.js.map").write_text(json.dumps(source_map(sourcesContent=["other"])))
    with pytest.raises(BadDocument, match=r"src/a\.ts"):
        package_sources(package)


@pytest.mark.parametrize(
    "changes",
    [
        {"sources": ["../../outside.ts"]},
        {"sources": ["/etc/passwd"]},
        {"sources": [None]},
        {"sources": "a"},
        {"sourcesContent": [None]},
        {"sourcesContent": []},
        {"sourcesContent": None},
        {"sourceRoot": 1},
    ],
)
def test_a_map_without_content_or_with_a_place_outside_is_refused(changes):
    with pytest.raises(BadDocument, match="bad source map 'm'"):
        map_sources(source_map(**changes), "dist", "m")


def test_a_map_that_is_no_json_object_is_refused(package):
    with pytest.raises(BadDocument):
        map_sources([], "dist", "m")
    (package / "dist" / "a.js.map").write_text("{")
    with pytest.raises(BadDocument, match=r"a\.js\.map"):
        package_sources(package)


def test_a_package_that_is_not_installed_is_missing(tmp_path):
    with pytest.raises(Missing, match="wmo-vendor install"):
        package_sources(tmp_path / "nowhere")
