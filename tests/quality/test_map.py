"""The map's intervals, exactly: by enumeration, or where everything was tried.

Bias and coverage in planted worlds are in `benchmarks/campaign/survey.py`.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from benchmarks.campaign.survey import LATTICE, NODES, true_masses
from scipy import stats

from failscape.kinds.t2i.survey.assemble import failure_masses
from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.stats.contrasts import interaction


@pytest.mark.parametrize("together", [1.0, 0.3])
def test_intervals_of_interactions_cover(together: float) -> None:
    """Every result that eight images of each of four nodes can have, with its chance."""
    images, entity, first, second = 8, 0.95, 0.9, 0.85
    chances = [entity * first * second * together, entity * first, entity * second, entity]
    true = chances[1] * chances[2] / entity - chances[0]
    weights = stats.binom.pmf(np.arange(images + 1), images, np.array(chances)[:, None])
    covered = 0.0
    for row in product(range(images + 1), repeat=4):
        chance = np.prod([weights[at, passes] for at, passes in enumerate(row)])
        if chance > 1e-7:
            own, *parents, alone = [(passes, images - passes) for passes in row]
            found = interaction(own, parents, alone)
            assert found is not None
            low, high = found.interval
            covered += float(chance) * (low <= true <= high)
    assert covered > 0.93


def test_a_census_of_what_always_or_never_fails_has_the_true_masses() -> None:
    rates = {node: float((node.entity + sum(node.values)) % 5 > 0) for node in NODES}
    panel = {node: TriedCounts(4 * int(rate), 4 - 4 * int(rate)) for node, rate in rates.items()}
    truth = true_masses(rates)
    for mass in failure_masses(LATTICE, panel):
        assert mass.rate == pytest.approx(truth[mass.group, mass.name], abs=1e-9), (mass.group, mass.name)
        assert mass.interval[0] - 1e-9 <= mass.rate <= mass.interval[1] + 1e-9
