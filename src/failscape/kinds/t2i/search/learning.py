"""What the hunt has learned as of its last refit: counts, belief, calibration, and their posterior."""

from __future__ import annotations

import numpy as np

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.calibration import Calibration
from failscape.kinds.t2i.search.claims import ClaimList
from failscape.kinds.t2i.search.forecast import Bars, Forecast, Goal
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.posterior import Posterior
from failscape.kinds.t2i.search.reading import read_words
from failscape.search.belief.belief import Belief, CountsAtRefit, Taxonomy, counts_of
from failscape.search.belief.nodes import Nodes
from failscape.spaces.earlier import Earlier, refuse_unshared
from failscape.stats.judging.accuracy import JudgeAccuracy


class LearnedBelief:
    """Changes by `begin_with` and `refit` alone; reading changes nothing."""

    def __init__(
        self, ledger: Ledger, bars: Bars, accuracy: JudgeAccuracy | None, threshold: float, goal: Goal
    ) -> None:
        self._ledger = ledger
        self._lattice = ledger.lattice
        self._bars = bars
        self._accuracy = accuracy
        self._threshold = threshold
        judge = accuracy or JudgeAccuracy.perfect()
        self._as_measured = Bars(self._lattice.corpus, judge.as_measured(), threshold)
        self.taxonomy = Taxonomy.of_lattice(self._lattice)
        self._earlier: Belief | None = None
        self._calibration = Calibration()
        self._counts = self._count()
        self._goal = goal
        self._posterior: Posterior | None = None
        self.refits = 0

    def begin_with(self, earlier: Earlier) -> None:
        """Its rates guide the search as far as they hold here, which new images alone can tell."""
        counts = counts_of(self._lattice, earlier.counts)
        refuse_unshared(earlier, len(counts.nodes))
        self._earlier = Belief(self.taxonomy, self._lattice.depth, counts, self._threshold)
        self._posterior = None

    def refit(self, goal: Goal, claims: ClaimList) -> None:
        """Learn from all images so far; `goal` says when a node counts as failing from now on."""
        self._calibration.learn(self._ledger.tallies)
        self._counts = self._count()
        self._goal = goal
        self.refits += 1
        self._posterior = None
        self._calibration.watch(claims.to_watch(self.posterior))

    @property
    def posterior(self) -> Posterior:
        """What is believed as of the last refit. Of an earlier hunt it believes what new images bear out."""
        if self._posterior is None:
            self._posterior = self._believe()
        return self._posterior

    @property
    def guide(self) -> Posterior:
        """What choices go by. After a warm start that is the hope that old rates hold, once those tried first
        had a say, and until enough images tell whether they do; claims never go by it."""
        told = int(self._counts.passes.sum() + self._counts.fails.sum())
        hopeful = self._earlier is not None and 0 < told < tuning.HOPEFUL
        return self._believe(tuning.HOPE) if hopeful else self.posterior

    def _count(self) -> CountsAtRefit:
        ledger = self._ledger
        nodes = Nodes(ledger.nodes.entity.copy(), ledger.nodes.values.copy())
        seen = (ledger.seen[0].copy(), ledger.seen[1].copy())
        return CountsAtRefit(nodes, ledger.layers, ledger.passes.copy(), ledger.fails.copy(), seen)

    def _believe(self, hope: float = 0.0) -> Posterior:
        depth = self._lattice.depth
        edges = self._judged_thresholds()
        belief = Belief(self.taxonomy, depth, self._counts, self._threshold, self._earlier, hope, edges)
        forecast = Forecast(belief.wary, self._bars.limits, self._goal, self._calibration.offsets)
        reading = None
        if self._accuracy is not None and depth and self._accuracy.only_in_the_mean:
            reading = read_words(self._ledger, self._accuracy, belief, edges[1])
        return Posterior(self._ledger, belief, forecast, self._bars, reading)

    def _judged_thresholds(self) -> list[float]:
        """By layer: what the judge makes of the threshold, for the usual node of the layer."""
        counts = self._counts
        bars = self._as_measured.of(counts.nodes)
        limits = np.array([limit.fail for limit in self._as_measured.limits])
        layers = range(self._lattice.depth + 1)
        met = [limits[bars[counts.layers == layer]] for layer in layers]
        return [float(np.median(one)) if len(one) else self._threshold for one in met]
