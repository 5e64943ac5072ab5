"""Keeps the evidence of all descriptions up to date, and says which of them are proven. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from failscape.hunts.classifier.field import Field
from failscape.stats.excess import absent_share, log_excess, log_excess_grid
from failscape.stats.fdr import log_e_bh


class Scales:
    def __init__(self, field: Field) -> None:
        self._field = field
        self._grids: dict[int, tuple[tuple[int, int], Any]] = {}

    def weigh(self, touched: set[str]) -> None:
        """Bring evidence up to date. A moved baseline touches all descriptions of its class."""
        rules, stale = self._field.rules, set(touched)
        moved = set()
        for at, state in enumerate(self._field.classes):
            counts = (state.base.fails, state.base.passes)
            if self._grids.get(at, (None,))[0] != counts:
                self._grids[at] = (counts, log_excess_grid(*counts)[0])
                moved.add(at)
        stale |= {
            name for name, arm in self._field.arms.items() if arm.issued and arm.description.label in moved
        }
        arms = [self._field.arms[name] for name in sorted(stale) if self._field.arms[name].counts.tries]
        if arms:
            base = np.stack([self._grids[arm.description.label][1] for arm in arms])
            fails, passes = [[getattr(arm.counts, side) for arm in arms] for side in ("fails", "passes")]
            seen = [arm.counts.valid + arm.counts.absent for arm in arms]
            absent = (
                absent_share(np.add(fails, passes), seen, rules.sensitivity, rules.slip)
                if rules.slip
                else 0.0
            )
            found = log_excess(base, fails, passes, rules.margin, absent)
            for arm, value in zip(arms, found, strict=True):
                arm.log_e = float(value)
        opened = [arm for arm in self._field.arms.values() if arm.counts.tries]
        sure = log_e_bh([arm.log_e for arm in opened], rules.fdr, self._field.most_tried)
        self._field.claimed = [arm for arm, yes in zip(opened, sure, strict=True) if yes]

    def need(self) -> float:
        """log of the evidence at which a description may stop: a little more than e-BH asks for now."""
        rules, arms = self._field.rules, self._field.arms.values()
        strong = sum(arm.log_e >= -np.log(rules.fdr) for arm in arms)
        return float(np.log(max(1.5, 1.25 * self._field.most_tried / max(1, strong)) / rules.fdr))
