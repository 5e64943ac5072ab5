"""The posterior of opened nodes: how likely does each pass or fail, given one belief and its own images?

It only reads. Choosing has its own state (`agenda.py`), which reading must not disturb.
"""

import numpy as np

from failscape.hunts.belief.belief import NO_ROW, Belief
from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.doubt import temper, trust_in
from failscape.hunts.t2i.certified.forecast import Bars, Forecast, ForecastRow, Prior
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.reading import Reading


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

    def doubt(self, slot: int, resting: int = 0) -> float:
        """The chance that it fails: between what the model says and what its images say by themselves, the
        nearer to these the more claims rest on it."""
        prior, tally = self._prior(slot), self._ledger.tallies[slot]
        believed, bar = 1 - self.forecast.of(prior, tally).passes, self._bars.limits[prior[2]].passes
        return temper(believed, tally[0], tally[1], bar, trust_in(prior[0], resting))

    def fails(self, slot: int) -> float:
        """The chance that it fails, as the list of findings reckons with it.

        What classes say of an entity speaks for others of its class; there are few of them to learn from, and
        it counts at most as even odds for failing. Else it is what is believed, if the judge can be.
        """
        return self._fails(slot) * (1 - self.misread(slot))

    def misread(self, slot: int) -> float:
        """The chance that it only looks failing, because the judge misreads a word of it."""
        return 0.0 if self.reading is None else self.reading.doubt(self._ledger.keys[slot])

    def _fails(self, slot: int) -> float:
        chance = self.of(slot).fails
        if self._prior(slot)[0]:
            return chance
        before = self.before(slot).fails
        if before <= tuning.MOST_BEFORE or chance >= 1:
            return chance
        odds = chance / (1 - chance) * (1 - before) / before * tuning.MOST_BEFORE / (1 - tuning.MOST_BEFORE)
        return odds / (1 + odds)

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
