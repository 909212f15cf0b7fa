"""What a run shows of its held-out tasks. Apart from the rest of the view: it loads numpy."""

from wmo_contracts.gain import HoldoutView
from wmo_contracts.run import RunSettings
from wmo_contracts.score import ScoreReport
from wmo_kit.errors import BadDocument

from wmo_population.gain import paired_gain
from wmo_population.holdout import holdout_slots, read_holdout
from wmo_population.slots import candidate_slot_id
from wmo_population.state import PopulationRunState


def view_holdout(state: PopulationRunState, settings: RunSettings) -> HoldoutView:
    """Give the seed and the best so far on the held-out tasks, as far as they are scored. Raises BadDocument, OSError.

    Where the seed is the best, its gain over itself is 0 for certain, and so within noise.
    """
    if not state.entries:
        return HoldoutView(tasks=settings.holdout)
    best_slot = holdout_slots(state.entries)[-1]
    seed, best = (_report(state, settings, slot) for slot in (0, best_slot))
    view = HoldoutView(
        tasks=settings.holdout,
        candidate_id=candidate_slot_id(best_slot),
        seed_score=None if seed is None else seed.score,
        best_score=None if best is None else best.score,
    )
    if seed is None or best is None:
        return view
    if best_slot == 0:
        return view.model_copy(update={"gain": 0.0, "low": 0.0, "high": 0.0, "within_noise": True})
    gain = paired_gain(seed, best)
    return view.model_copy(update=gain.model_dump(include={"gain", "low", "high", "within_noise"}))


def _report(state: PopulationRunState, settings: RunSettings, slot: int) -> ScoreReport | None:
    candidate = state.load_slot(slot).candidate
    if candidate is None:
        raise AssertionError("only a scored slot is the best, and the seed is always scored")
    try:
        return read_holdout(state.layout, settings, slot, candidate)
    except BadDocument as error:
        if isinstance(error.__cause__, FileNotFoundError):  # not a second look: it may have been written meanwhile
            return None
        raise
