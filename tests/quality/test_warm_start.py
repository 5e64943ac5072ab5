"""A warm start guides a search, and is no evidence. What it gains and costs: `benchmarks/campaign`."""

from __future__ import annotations

import pytest
from benchmarks.warm_start import LATTICE, make_hunt

from failscape.spaces.earlier import Earlier
from tests.quality.sure_worlds import play


@pytest.mark.parametrize("strategy", ["certified", "listed"])
def test_nothing_is_claimed_because_an_earlier_model_failed(strategy: str) -> None:
    """Everything failed before, and nothing does now."""
    subjects = [LATTICE.subject(node) for node in LATTICE.nodes(0)]
    earlier = Earlier("t2i", "old", dict.fromkeys(subjects, (0, 30)), tuple(subjects))
    hunt = make_hunt(strategy, 600, 1)
    hunt.begin_with(earlier)
    play(hunt, lambda subject: False, 600)
    assert hunt.findings() == []
