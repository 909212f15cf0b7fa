import pytest
from wmo_contracts.harness import HarnessDocument
from wmo_harness.documents import from_document, to_document
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import BadHarness, Surface, doc_hash, from_doc, parse_tree, to_doc
from wmo_harness.system_prompt import system_prompt
from wmo_harness.tool_policy import KNOWN_TOOLS, tool_specs
from wmo_kit.errors import BadDocument

SKILL = "---\nname: count-rows\ndescription: Count: rows\n---\nUse wc -l.\n"


def spec_of(config="", **files):
    return parse_tree(SourceTree.from_mapping({"SYSTEM.md": "Work.\n", "config.toml": config, **files}))


def refusal(config="", **files):
    with pytest.raises(BadHarness) as caught:
        spec_of(config, **files)
    return str(caught.value)


def test_defaults():
    spec = spec_of()
    assert (spec.max_turns, spec.max_output_tokens, spec.temperature, spec.runtime_kind) == (
        20,
        4096,
        0.7,
        "kit-python",
    )
    assert spec.tools == ("bash", "read_file", "write_file", "submit")
    assert spec.system == "Work.\n"


def test_every_setting_is_taken():
    spec = spec_of(
        '[harness]\ntools = ["submit"]\nmax_turns = 3\n'
        'max_output_tokens = 9\ntemperature = 2\nruntime_kind = "pi-node"\n'
    )
    assert (spec.tools, spec.max_turns, spec.max_output_tokens, spec.temperature, spec.runtime_kind) == (
        ("submit",),
        3,
        9,
        2.0,
        "pi-node",
    )


def test_skills_bring_read_skill_and_an_index():
    spec = spec_of('[harness]\ntools = ["submit"]\n', **{"skills/count-rows.md": SKILL})
    assert spec.tools == ("submit", "read_skill")
    assert spec.skills[0].content == "Use wc -l."
    assert system_prompt(spec).startswith("Work.\n\n")
    assert "- count-rows: Count: rows\n" in system_prompt(spec)


def test_without_skills_the_prompt_is_the_file():
    assert system_prompt(spec_of()) == "Work.\n"


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("harness = 1\n", "'harness'"),
        ('[harness]\ntools = ["submit", "submit"]\n', "'submit' twice"),
        ("[harness]\ntools = [1]\n", "'tools'"),
        ("[harness]\ntemperature = true\n", "'temperature'"),
        ("[harness]\ntemperature = inf\n", "'temperature'"),
        ("[harness]\ntemperature = -0.1\n", "'temperature'"),
        ('[harness]\ntemperature = "0"\n', "'temperature'"),
        ("[harness]\nmax_output_tokens = 0\n", "'max_output_tokens'"),
        ('[harness]\nruntime_kind = "deno"\n', "'runtime_kind'"),
        ("[harness]\nruntime_kind = []\n", "'runtime_kind'"),
        ("[harness]\nmax_turns = " + "9" * 5000, "config.toml"),
        ("[harness]\ntools = " + "[" * 5000, "config.toml"),
    ],
)
def test_bad_config_is_refused_by_key(config, named):
    assert named in refusal(config)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SKILL.replace("description: Count: rows\n", ""), "'description'"),
        (SKILL.replace("name: count-rows", "name: count-rows\nname: count-rows"), "line 3"),
        (SKILL.replace("name:", "title:"), "line 2"),
        ("---\nname: count-rows\ndescription: d", "no '---'"),
        ("", "first line"),
    ],
)
def test_bad_front_matter_is_refused(text, said):
    message = refusal(**{"skills/count-rows.md": text})
    assert said in message
    assert "skills/count-rows.md" in message


def test_runtime_py_nested_beyond_the_parser_is_refused():
    assert "runtime.py" in refusal(**{"runtime.py": "(" * 100_000})


def test_an_integer_and_a_float_temperature_differ_in_hash_only():
    one, same = spec_of("[harness]\ntemperature = 1\n"), spec_of("[harness]\ntemperature = 1.0\n")
    assert one.temperature == same.temperature == 1.0
    assert doc_hash(one) != doc_hash(same)


def test_from_doc_gives_the_canonical_tree_itself():
    tree = SourceTree.from_mapping(
        {
            "SYSTEM.md": "x",
            "config.toml": '[harness]\ntools = ["bash", "submit"]\nmax_turns = 3\ntemperature = 0.25\n',
            "skills/count-rows.md": SKILL.rstrip("\n"),
            "runtime.py": "def run(kit): ...\n",
            "src/a.ts": "\r\n",
        }
    )
    assert from_doc(to_doc(tree)) == tree


@pytest.mark.parametrize(
    "surface",
    [
        Surface("param:speed", "param", "1"),
        Surface("param:max-turns", "param", "3\nmax_output_tokens = 5"),
        Surface("param:max-turns", "param", "03"),
        Surface("tool_policy:main", "tool_policy", "bash"),
        Surface("skill:count-rows", "skill", SKILL),
        Surface("code:other", "code", "x", "src/a.ts"),
        Surface("code:other", "code", "x"),
    ],
)
def test_from_doc_refuses_what_no_tree_gives(surface):
    with pytest.raises(BadHarness):
        from_doc([Surface("prompt:core", "prompt", "x"), surface])


def test_tool_specs_are_strict_string_schemas():
    specs = tool_specs(KNOWN_TOOLS)
    assert [spec.name for spec in specs] == ["bash", "read_file", "write_file", "submit", "read_skill"]
    assert {spec.name: spec.parameters["required"] for spec in specs} == {
        "bash": ["command"],
        "read_file": ["path"],
        "write_file": ["path", "content"],
        "submit": ["answer"],
        "read_skill": ["name"],
    }
    for spec in specs:
        assert list(spec.parameters["properties"]) == spec.parameters["required"]
        assert {value["type"] for value in spec.parameters["properties"].values()} == {"string"}


def test_document_round_trip():
    tree = SourceTree.from_mapping({"SYSTEM.md": "x", "src/a.ts": "1"})
    document = to_document(tree, "n")
    assert from_document(HarnessDocument.model_validate_json(document.to_text())) == tree
    assert from_document(HarnessDocument(name="n", files=tuple(reversed(tree.files)))) == tree


@pytest.mark.parametrize("key", ["tree_hash", "doc_hash"])
def test_a_document_that_contradicts_itself_is_refused(key):
    document = to_document(SourceTree.from_mapping({"SYSTEM.md": "x"}), "n")
    with pytest.raises(BadDocument, match=f"'{key}' says {'0' * 32}"):
        from_document(document.model_copy(update={key: "0" * 32}))
