from pathlib import Path

import pytest
from wmo_harness.pi_agent import find_vendor_dir, seed_tree
from wmo_harness.seeds import SEEDS, named_seed
from wmo_harness.surfaces import parse_tree


def test_the_seeds_are_one_harness_in_two_runtimes():
    pi, baseline = (parse_tree(named_seed(name, None)) for name in SEEDS)
    assert (pi.runtime_kind, baseline.runtime_kind) == ("pi-node", "kit-python")
    for key in ("system", "tools", "max_turns", "max_output_tokens", "temperature", "skills"):
        assert getattr(pi, key) == getattr(baseline, key)
    assert {surface.kind for surface in baseline.surfaces} == {"prompt", "tool_policy", "param"}
    assert named_seed("pi", None) == seed_tree(find_vendor_dir(None, Path(__file__)))


def test_another_name_is_no_seed():
    with pytest.raises(KeyError):
        named_seed("claude", None)
