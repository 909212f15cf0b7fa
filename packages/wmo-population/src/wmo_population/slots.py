"""Slots by number: their names, what comes next, and which candidate wins. Pure."""

from collections.abc import Iterable, Sequence

from wmo_contracts.run import NextStep, StateEntry

from wmo_population.outcomes import EvaluatedCandidate


def candidate_slot_id(slot: int) -> str:
    """Give the candidate id of a slot, e.g. "candidate-0003". Raises ValueError for anything but an int >= 0."""
    return f"candidate-{_checked(slot):04d}"


def proposal_slot_id(slot: int) -> str:
    """Give the name of a slot's folder below proposals/, e.g. "slot-0003". Raises ValueError as candidate_slot_id."""
    return f"slot-{_checked(slot):04d}"


def _checked(slot: int) -> int:
    if type(slot) is not int or slot < 0:  # bool is an int to isinstance
        raise ValueError(f"a slot is an integer of 0 or more, not {slot!r}")
    return slot


def next_step(consumed: int, iterations: int, *, pending: bool, held_out: int | None = None) -> NextStep:
    """Say what a run does next.

    `consumed` is the number of slots that state.json records (the seed's included), `iterations` the number of slots
    after the seed, `pending` whether the first slot that is not consumed holds an accepted candidate. `held_out` is the
    slot of a candidate that is to be scored on the held-out tasks after the last slot.
    """
    if consumed == 0:
        return NextStep(step="score-seed", slot=0)
    if consumed > iterations:
        if held_out is not None:
            return NextStep(step="score-holdout", slot=held_out)
        return NextStep(step="done", slot=consumed - 1)
    return NextStep(step="score" if pending else "propose", slot=consumed)


def rejections_in_a_row(entries: Sequence[StateEntry]) -> int:
    """Count the rejected slots at the end of an index, since the last one that was scored."""
    return next((count for count, entry in enumerate(reversed(entries)) if entry.kind == "scored"), len(entries))


def best_slot(entries: Iterable[StateEntry]) -> int:
    """Give the slot of the highest score in an index, the earliest of equals.

    Raises ValueError where none is scored.
    """
    scored = (entry for entry in entries if entry.kind == "scored")
    return max(scored, key=lambda entry: entry.score).slot


def select_best(population: Iterable[EvaluatedCandidate]) -> EvaluatedCandidate | None:
    """Give the candidate of the highest score, the earliest of equals; None of none."""
    return max(population, key=lambda candidate: candidate.score, default=None)
