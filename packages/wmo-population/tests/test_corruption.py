"""Evidence that does not hold: always a BadDocument (65) that names the file and the slot, never a silent repair."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wmo_harness.surfaces import doc_hash, parse_tree
from wmo_kit.errors import BadDocument
from wmo_population import PopulationRunState
from wmo_population.verify import verify_run

GARBAGE = [b"", b"[]", b"null", b"7", b"{}", b'"x"', b"\xff\xfe", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000]


def load(run):
    state = PopulationRunState(run)
    state.load_pending(state.consumed)
    return state.load()


@pytest.mark.parametrize("garbage", GARBAGE, ids=[repr(garbage[:12]) for garbage in GARBAGE])
@pytest.mark.parametrize(
    "name",
    [
        "state.json",
        "candidates/candidate-0000/report.json",
        "candidates/candidate-0001/proposal.json",
        "candidates/candidate-0002/error.json",
        "candidates/candidate-0004/pending.json",
    ],
)
def test_garbage_in_a_file_is_named(vector, name, garbage):
    run = vector("run-pending")
    (run / name).write_bytes(garbage)
    with pytest.raises(BadDocument) as caught:
        load(run)
    assert str(run / name) in str(caught.value)
    if name != "state.json":
        assert f"slot {name.split('/')[1][-1]}" in str(caught.value)
    assert "restore" in str(caught.value)
    check = verify_run(run)
    assert not check.ok
    assert len(check.problems) == 1


def edit(run, name, change):
    path = run / name
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def swap(run, one, other):
    first, second = run / "candidates" / one, run / "candidates" / other
    first.rename(run / "aside")
    second.rename(first)
    (run / "aside").rename(second)


def into_file(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    path.write_text("in the way")


MUTATIONS = {
    "slot gap": ("state.json", lambda run: edit(run, "state.json", lambda state: state["outcomes"].pop(1))),
    "slot twice": (
        "state.json",
        lambda run: edit(run, "state.json", lambda state: state["outcomes"].insert(1, state["outcomes"][0])),
    ),
    "other id": (
        "state.json",
        lambda run: edit(run, "state.json", lambda state: state["outcomes"][1].update(candidate_id="candidate-0003")),
    ),
    "slot is true": (
        "state.json",
        lambda run: edit(run, "state.json", lambda state: state["outcomes"][1].update(slot=True)),
    ),
    "score edited": (
        "slot 1",
        lambda run: edit(run, "state.json", lambda state: state["outcomes"][1].update(score=0.9)),
    ),
    "reason edited": (
        "slot 2",
        lambda run: edit(run, "state.json", lambda state: state["outcomes"][2].update(reason="other")),
    ),
    "index cut": ("slot 4", lambda run: edit(run, "state.json", lambda state: state["outcomes"].pop())),
    "index gone": ("slot 1", lambda run: (run / "state.json").unlink()),
    "candidates swapped": ("slot 1", lambda run: swap(run, "candidate-0001", "candidate-0003")),
    "source edited": (
        "slot 3",
        lambda run: (run / "candidates/candidate-0003/source/src/a.ts").write_text("export const n = 9;\n"),
    ),
    "file added": ("slot 3", lambda run: (run / "candidates/candidate-0003/source/src/b.ts").write_text("")),
    "file removed": ("slot 0", lambda run: (run / "candidates/candidate-0000/source/config.toml").unlink()),
    "comment in toml": (  # the same document, another tree
        "slot 1",
        lambda run: (run / "candidates/candidate-0001/source/config.toml").open("a").write("# x\n"),
    ),
    "source is a link": (
        "slot 1",
        lambda run: (
            (run / "candidates/candidate-0001/source/SYSTEM.md").unlink(),
            (run / "candidates/candidate-0001/source/SYSTEM.md").symlink_to("/etc/hostname"),
        ),
    ),
    "source missing": ("slot 1", lambda run: shutil.rmtree(run / "candidates/candidate-0001/source")),
    "source a file": ("slot 1", lambda run: into_file(run / "candidates/candidate-0001/source")),
    "candidate missing": ("slot 3", lambda run: shutil.rmtree(run / "candidates/candidate-0003")),
    "candidate a file": ("slot 3", lambda run: into_file(run / "candidates/candidate-0003")),
    "report missing": ("slot 1", lambda run: (run / "candidates/candidate-0001/report.json").unlink()),
    "report a folder": (
        "slot 1",
        lambda run: (
            (run / "candidates/candidate-0001/report.json").unlink(),
            (run / "candidates/candidate-0001/report.json").mkdir(),
        ),
    ),
    "report a loop": (
        "slot 1",
        lambda run: (
            (run / "candidates/candidate-0001/report.json").unlink(),
            (run / "candidates/candidate-0001/report.json").symlink_to("report.json"),
        ),
    ),
    "reward edited": (
        "slot 1",
        lambda run: edit(
            run, "candidates/candidate-0001/report.json", lambda report: report["cells"][0].update(reward=1)
        ),
    ),
    "stand-in reward": (
        "slot 1",
        lambda run: edit(
            run, "candidates/candidate-0001/report.json", lambda report: report["cells"][0].update(infra_failed=True)
        ),
    ),
    "other request": (
        "slot 1",
        lambda run: edit(
            run, "candidates/candidate-0001/report.json", lambda report: report["request"]["task_ids"].reverse()
        ),
    ),
    "proposal's tree": (
        "slot 1",
        lambda run: edit(
            run, "candidates/candidate-0001/proposal.json", lambda proposal: proposal.update(tree_hash="0" * 32)
        ),
    ),
    "too many slots on disk": ("slot 9", lambda run: (run / "candidates/candidate-0009").mkdir()),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_run_that_was_tampered_with_is_refused(vector, name):
    words, mutate = MUTATIONS[name]
    run = vector("run-complete")
    mutate(run)
    with pytest.raises(BadDocument, match=words):
        load(run)
    check = verify_run(run)
    assert not check.ok
    assert words in " ".join(problem.problem for problem in check.problems)


def test_a_pending_candidate_that_was_edited_is_refused(vector):
    run = vector("run-pending")
    (run / "candidates/candidate-0004/source/SYSTEM.md").write_text("Meddled with.")
    with pytest.raises(BadDocument, match=r"slot 4: source .* hashes to"):
        load(run)


def test_a_report_of_another_candidate_is_not_taken_for_the_pending_ones(vector, replay, complete):
    from wmo_population import optimize

    run, player = vector("run-pending"), replay()
    (run / "candidates/candidate-0004/report.json").write_bytes(
        (complete / "candidates/candidate-0003/report.json").read_bytes()
    )
    with pytest.raises(BadDocument, match=r"bad report of 'candidate-0004'.*move .* away"):
        optimize(player.seed, player, player, 4, run_dir=run)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_or_flipped_byte_is_detected_or_harmless(data, complete, tmp_path_factory):
    """Harmless: what loads is what loaded before; of a seed without run.json only the document's hash is on record."""
    run = tmp_path_factory.mktemp("mutated") / "run"
    shutil.copytree(complete, run)
    before = load(run)
    path = data.draw(st.sampled_from(sorted(path for path in run.rglob("*") if path.is_file())))
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= data.draw(st.integers(1, 255))
    else:
        del content[place:]
    path.write_bytes(bytes(content))
    try:
        after = load(run)
    except BadDocument:
        return
    assert [outcome.entry() for outcome in after] == [outcome.entry() for outcome in before]
    assert [getattr(outcome.candidate, "tree", None) for outcome in after[1:]] == [
        getattr(outcome.candidate, "tree", None) for outcome in before[1:]
    ]
    assert doc_hash(parse_tree(after[0].candidate.tree)) == before[0].candidate.doc_hash
