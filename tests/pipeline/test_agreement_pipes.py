"""`wmo-score --agreement` in pipes: documents of real scorings in, one document and one sentence out."""

import json

import pytest

SUITE = "tools/wmo-score/tests/tasks"


@pytest.fixture(scope="module")
def scored(shell, tmp_path_factory):
    """Give a folder with the oracle's and the idle agent's scorings."""
    folder = tmp_path_factory.mktemp("scored")
    for agent, options in (("oracle", ""), ("nop", "--task greet --task count")):
        done = shell(f"wmo-score --suite {SUITE} --agent {agent} {options} -o {folder}/{agent}.json")
        assert done.returncode == 0, done.stderr
    return folder


def test_two_scorings_are_held_against_each_other_in_a_pipe(shell, scored):
    done = shell(f"cat {scored}/nop.json | wmo-score --agreement {scored}/oracle.json - | tee /dev/stderr | jq -c .gap")
    assert (done.returncode, float(done.stdout)) == (0, 1), done.stderr
    document = json.loads(done.stderr[done.stderr.index("{") :])
    assert document["schema"] == "wmo.agreement/1"
    assert (document["agreement"], document["only_a"], document["only_b"]) == (0, ["serve"], [])
    assert document["confusion"]["only_a_passes"] == 2
    assert "A and B agree on 0 of 2 shared tasks; A scores +1.0000 against B" in done.stderr


def test_the_same_file_twice_agrees(shell, scored):
    document = json.loads(shell(f"wmo-score --agreement {scored}/nop.json {scored}/nop.json").stdout)
    assert (document["agreement"], document["gap"]) == (1, 0)


def test_with_a_baseline_the_gain_is_told(shell, scored):
    pair = f"{scored}/oracle.json {scored}/oracle.json --baseline {scored}/nop.json {scored}/nop.json"
    done = shell(f"wmo-score --agreement {pair} -o {scored}/agreement.json")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    document = json.loads((scored / "agreement.json").read_text())
    assert (document["transfer"]["gain_b"]["gain"], document["transfer"]["carries_over"]) == (1, None)
    assert document["sentence"] in done.stderr
    assert "it cannot be told whether the gain carries over" in done.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--agreement {0}/nop.json {0}/none.json", 65, "no such file"),
        ("--agreement {0}/nop.json tests/pipeline/test_agreement_pipes.py", 65, "cannot read"),
        ("--agreement {0}/nop.json {0}/cut.json", 65, "cannot read"),
        ("--agreement {0}/nop.json {0}/harness.json", 65, "its schema is 'wmo.harness/1', wanted 'wmo.score/1'"),
        ("--agreement - -", 2, "'-' can be only one of the documents"),
        ("--agreement {0}/nop.json", 2, "requires 2 arguments"),
        ("--agreement {0}/nop.json {0}/nop.json --suite x", 2, "leave out whatever is for scoring"),
        ("--agreement {0}/nop.json {0}/nop.json --run x", 2, "leave out whatever is for scoring"),
        ("--baseline {0}/nop.json {0}/nop.json", 2, "'--baseline' goes with '--agreement'"),
    ],
)
def test_what_is_no_pair_of_scorings_is_refused(shell, scored, line, code, said):
    (scored / "cut.json").write_text((scored / "nop.json").read_text()[:300])
    (scored / "harness.json").write_text('{"schema": "wmo.harness/1"}')
    done = shell(f"wmo-score {line.format(scored)}", stdin="{}")
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True), done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda document: document["report"].update(reward_mode="positive-binary"),
            "nop.json' and '{0}/other.json' do not compare: their reward modes are 'raw' and 'positive-binary'",
        ),
        (
            lambda document: document["report"]["cells"][0].update(infra_failed=True),
            "'{0}/other.json' cannot be compared: its trial 'count #1' failed for want of infrastructure",
        ),
        (lambda document: document.update(score=0.9), "cannot read '{0}/other.json': 'document': "),
    ],
)
@pytest.mark.parametrize(
    "place", ["{0}/nop.json {0}/other.json", "{0}/nop.json {0}/nop.json --baseline {0}/nop.json {0}/other.json"]
)
def test_scorings_that_do_not_compare_are_refused(shell, scored, change, said, place):
    document = json.loads((scored / "nop.json").read_text())
    change(document)
    (scored / "other.json").write_text(json.dumps(document))
    done = shell(f"wmo-score --agreement {place.format(scored)}")
    assert (done.returncode, done.stdout, said.format(scored) in done.stderr) == (65, "", True), done.stderr
