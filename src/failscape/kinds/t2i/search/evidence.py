"""The tests that e-BH decides over: how many are counted, at what levels, and the evidence of each."""

import math

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.claims import ClaimList
from failscape.kinds.t2i.search.forecast import Bars, Goal, log_evidence
from failscape.kinds.t2i.search.group_tests import most_groups
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.search.certify import certify, evidence_for, evidence_needed


class Tests:
    """Counts and levels. No outcome can move the numbers of tests: they depend on the budget alone, or,
    without one or beyond it, on the number of trials (`told`), in steps of two. They never exceed the space.
    """

    def __init__(self, ledger: Ledger, bars: Bars, settings: CertifiedSettings, entities: int) -> None:
        self._ledger = ledger
        self._bars = bars
        self._settings = settings
        self._entities = entities
        lattice = ledger.lattice
        self._others = sum(lattice.layer_size(layer) for layer in range(lattice.depth + 1)) - entities
        above = 1 - tuning.FOR_ENTITIES - tuning.FOR_GROUPS
        whole = (1.0, 1.0) if not lattice.depth else (tuning.FOR_ENTITIES, above)
        #: What entities and other nodes have of `fdr`; groups have the rest.
        self.levels = whole[0] * settings.fdr, whole[1] * settings.fdr

    def counted(self, told: int) -> tuple[int, int]:
        """The numbers of tests that e-BH counts: entities, and the most other nodes that may become tests."""
        most = math.ceil(self._settings.openings * self._images(told))
        return self._entities, min(most, self._others)

    def groups(self, told: int) -> int:
        """The number of groups that e-BH counts: the most that may become tests."""
        return most_groups(self._images(told))

    def _images(self, told: int) -> int:
        budget = self._settings.images or 0
        return budget if told <= budget else max(1 << (told - 1).bit_length(), 512)

    def room(self, told: int, in_flight: int) -> int:
        """How many more nodes may become tests now. They are given out with the images, so that the model
        has learnt something by the time that the last are chosen."""
        entities, others = self.counted(told)
        now = min(others, math.ceil(self._settings.openings * (told + in_flight)))
        return entities + now - len(self._ledger.adopted)

    def goal(self, told: int, book: ClaimList) -> Goal:
        """The evidence at which a node is left alone: e-BH will claim it, with a margin.

        Among other nodes than entities, e-BH will be asked about more tests and more claims in the end; the
        share of claims among the tests so far stands for that of the end.
        """
        entities, others = self.counted(told)
        so_far = max(min(others, math.ceil(self._settings.openings * told)), 1)
        if not self._settings.listing:
            alone, evidence = self._ledger.layers == 0, self.evidence()
            above = evidence_needed(evidence[~alone], self.levels[1], so_far)
            needs = evidence_needed(evidence[alone], self.levels[0], entities), above
            return Goal(needs, self._settings.fdr)
        # What is listed may all be certified in the end: then e-BH asks so much of each.
        listed = [len(self._ledger.keys[claim.slot]) == 1 for claim in book.claims]
        counts = max(sum(listed), 1), max(len(listed) - sum(listed), 1)
        needs = (
            evidence_for(counts[0], self.levels[0], entities),
            evidence_for(counts[1], self.levels[1], so_far),
        )
        return Goal(needs, self._settings.fdr, 1 - self._settings.fdr)

    def certified(self, told: int) -> set[int]:
        """Slots that e-BH claims by the evidence so far: entities at their level, all others at theirs."""
        evidence, keys = self.evidence(), self._ledger.keys
        found: set[int] = set()
        for above, (level, total) in enumerate(zip(self.levels, self.counted(told), strict=True)):
            tests = [slot for slot in self._ledger.adopted if (len(keys[slot]) > 1) == bool(above)]
            if tests:
                found |= certify(evidence, tests, level, total)
        return found

    def evidence(self) -> NDArray[np.float64]:
        """log e of every opened node; 0 where nothing is evidence."""
        evidence, bets = np.zeros(len(self._ledger)), self._ledger.bets
        slots = np.flatnonzero(bets.sum(axis=1))
        bars = self._bars.of(self._ledger.nodes[slots])
        limits = [limit.fail for limit in self._bars.limits]
        rows = zip(*bets[slots].T.tolist(), bars.tolist(), strict=True)
        evidence[slots] = [log_evidence(s, f, limits[bar]) for s, f, bar in rows]
        return evidence
