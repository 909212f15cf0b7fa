"""Names, order of steps and selection: pure rules of design 3."""

import pytest
from wmo_contracts.run import InvalidEntry, ScoredEntry
from wmo_harness.tree_io import read_tree
from wmo_population import EvaluatedCandidate, candidate_slot_id
from wmo_population.holdout import holdout_slots
from wmo_population.slots import next_step, proposal_slot_id, rejections_in_a_row, select_best


def test_names_have_four_digits_and_more_where_needed():
    assert candidate_slot_id(0) == "candidate-0000"
    assert candidate_slot_id(12345) == "candidate-12345"
    assert proposal_slot_id(7) == "slot-0007"


@pytest.mark.parametrize("slot", [True, False, -1, 1.0, "1", None])
def test_only_an_integer_is_a_slot(slot):
    with pytest.raises(ValueError, match="integer of 0 or more"):
        candidate_slot_id(slot)


@pytest.mark.parametrize(
    ("consumed", "iterations", "pending", "step", "slot"),
    [
        (0, 0, False, "score-seed", 0),
        (0, 3, False, "score-seed", 0),
        (1, 0, False, "done", 0),
        (1, 2, False, "propose", 1),
        (1, 2, True, "score", 1),
        (2, 2, True, "score", 2),
        (3, 2, False, "done", 2),
        (2, 1, True, "done", 1),
    ],
)
def test_the_next_step_follows_from_what_is_consumed(consumed, iterations, pending, step, slot):
    due = next_step(consumed, iterations, pending=pending)
    assert (due.step, due.slot) == (step, slot)


@pytest.mark.parametrize(
    ("consumed", "pending", "step", "slot"),
    [(0, False, "score-seed", 0), (1, True, "score", 1), (2, False, "propose", 2), (3, False, "score-holdout", 1)],
)
def test_held_out_tasks_come_after_the_last_slot(consumed, pending, step, slot):
    due = next_step(consumed, 2, pending=pending, held_out=1)
    assert (due.step, due.slot) == (step, slot)


def test_held_out_tasks_are_for_the_seed_and_the_earliest_best():
    def scored(slot, score):
        return ScoredEntry(slot=slot, candidate_id="", score=score, doc_hash="", evidence_dir="")

    rejected = InvalidEntry(slot=1, candidate_id="", reason="", evidence_dir="")
    assert holdout_slots([scored(0, 0.5)]) == (0,)
    assert holdout_slots([scored(0, 0.5), rejected, scored(2, 0.5)]) == (0,)
    assert holdout_slots([scored(0, 0.5), rejected, scored(2, 0.75), scored(3, 0.75)]) == (0, 2)


def test_the_earliest_of_equals_is_best(replay, complete):
    trees = {slot: read_tree(complete / "candidates" / candidate_slot_id(slot) / "source") for slot in (1, 3, 4)}
    population = [
        EvaluatedCandidate(candidate_slot_id(slot), tree, replay().score(candidate_slot_id(slot), tree))
        for slot, tree in trees.items()
    ]
    assert [candidate.score for candidate in population] == [0.5, 0.75, 0.75]
    assert select_best(population) == population[1]
    assert select_best(reversed(population)) == population[2]
    assert select_best([]) is None


def test_rejections_in_a_row_are_those_since_the_last_score():
    scored = [ScoredEntry(slot=0, candidate_id="candidate-0000", score=0.5, doc_hash="", evidence_dir="")]
    invalid = [InvalidEntry(slot=1, candidate_id="candidate-0001", reason="no", evidence_dir="")]
    assert rejections_in_a_row([]) == 0
    assert rejections_in_a_row(scored) == 0
    assert rejections_in_a_row([*scored, *invalid, *scored, *invalid, *invalid]) == 2
    assert rejections_in_a_row([*invalid, *scored]) == 0
