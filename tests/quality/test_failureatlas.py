"""The FailureAtlas rule errs exactly as the binomial says: it flags a node by its number of passes alone."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.spaces import Corpus, Entity, Lattice, Wording
from failscape.trials import Probe, Trial, Verdict

IMAGES = 25


def _trial(probe: Probe, passed: bool) -> Trial:
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return Trial(probe.key, probe.subject, verdict, "", ["image", [passed]])


@pytest.mark.parametrize(("at_threshold", "most"), [("pass", 19), ("fail", 20)])
@pytest.mark.parametrize("passes_first", [True, False])
def test_a_node_is_flagged_by_its_number_of_passes(at_threshold: str, most: int, passes_first: bool) -> None:
    """One entity for every number of passes in 25 images, which come first or last."""
    names = [f"thing {passes}" for passes in range(IMAGES + 1)]
    entities = tuple(Entity(name, "All", "Things") for name in names)
    nodes = len(entities)
    corpus = Corpus("flat", entities, (), np.ones((nodes, 0), bool), np.zeros((0, 0), bool), (0,))
    hunt = FailureAtlasHunt(Lattice(corpus, depth=0), Wording(corpus), at_threshold=at_threshold)
    told = dict.fromkeys(names, 0)
    while probes := hunt.ask(500):
        for probe in probes:
            passes = names.index(probe.subject)
            number = told[probe.subject]
            hunt.tell(_trial(probe, number < passes if passes_first else number >= IMAGES - passes))
            told[probe.subject] += 1
    assert {finding.subject for finding in hunt.findings()} == set(names[: most + 1])
