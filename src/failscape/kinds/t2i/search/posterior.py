"""The posterior of opened nodes: how likely does each pass or fail, given one belief and its own images?

It only reads. Choosing has its own state (`agenda.py`), which reading must not disturb.
"""

import numpy as np

from failscape.kinds.t2i.search.calibration import Role, WatchedNode
from failscape.kinds.t2i.search.forecast import Bars, Forecast, ForecastRow, Prior, log_evidence
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.reading import Reading
from failscape.search.belief.belief import NO_ROW, Belief


class Posterior:
    """Forecast rows of slots under a belief. Slots opened after the belief was formed are predicted."""

    def __init__(
        self,
        ledger: Ledger,
        belief: Belief,
        forecast: Forecast,
        bars: Bars,
        reading: Reading | None = None,
    ) -> None:
        self.belief = belief
        self.forecast = forecast
        self._ledger = ledger
        self._bars = bars
        #: Which words the judge may misread; None if it makes no errors.
        self.reading = reading
        self._priors: list[Prior] = []

    def of(self, slot: int) -> ForecastRow:
        """What is to be expected of a node now."""
        return self.forecast.of(self._prior(slot), self._ledger.tallies[slot])

    def fails(self, slot: int) -> float:
        """The probability that it fails, if the judge can be believed."""
        return self.of(slot).fails * (1 - self.misread(slot))

    def misread(self, slot: int) -> float:
        """The probability that it only looks failing, because the judge misreads a word of it."""
        return 0.0 if self.reading is None else self.reading.doubt(self._ledger.keys[slot])

    def passing_evidence(self, slot: int) -> float:
        """log e, from all images of a node and nothing else, that it passes as an ancestor."""
        passes, fails = self._ledger.tallies[slot][:2]
        return log_evidence(fails, passes, round(1 - self.forecast.limits[self._prior(slot)[2]].passes, 9))

    def watch(self, slot: int, role: Role) -> WatchedNode:
        """What is believed of a node in a role of a claim, before any correction."""
        prior = self._prior(slot)
        passes, fails = self._ledger.tallies[slot][:2]
        claimed, ancestor = self.forecast.densities(prior, (passes, fails))
        failing, passing = self.forecast.sides(prior)
        if role is Role.CLAIMED:
            return WatchedNode(role, claimed * ~failing, claimed * failing, passes, fails)
        return WatchedNode(role, ancestor * ~passing, ancestor * passing, passes, fails)

    def before(self, slot: int) -> ForecastRow:
        """What was to be expected of it without its own images."""
        return self.forecast.of(self._prior(slot))

    def _prior(self, slot: int) -> Prior:
        if slot >= len(self._priors):
            self._extend()
        return self._priors[slot]

    def _extend(self) -> None:
        start = len(self._priors)
        ledger, known = self._ledger, self.belief.slot_rows[start:]
        nodes, layers = ledger.nodes[np.arange(start, len(ledger))], ledger.layers[start:]
        rows = np.zeros(len(nodes), dtype=np.int64)
        for layer in np.unique(layers).tolist():
            chosen = np.flatnonzero(layers == layer)
            rows[chosen] = self.belief.rows(layer, nodes[chosen])
        rows[: len(known)] = np.where(known != NO_ROW, known, rows[: len(known)])
        self._priors += zip(layers.tolist(), rows.tolist(), self._bars.of(nodes).tolist(), strict=True)
