"""Keeps the evidence of all tested descriptions up to date, and says which of them are proven. Pure."""

from typing import Any

import numpy as np

from failscape.hunts.certify import evidence_needed
from failscape.hunts.classifier.arena import Arena
from failscape.stats.differences import absent_share, log_excess, log_excess_grid
from failscape.stats.evalues import log_e_bh


class Scales:
    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._grids: dict[int, tuple[tuple[int, int], Any]] = {}

    def weigh(self, touched: set[str]) -> None:
        """Bring evidence up to date. A moved baseline touches all descriptions of its class."""
        rules, stale = self._arena.rules, set(touched)
        moved = set()
        for at, state in enumerate(self._arena.classes):
            counts = (state.base.fails, state.base.passes)
            if self._grids.get(at, (None,))[0] != counts:
                self._grids[at] = (counts, log_excess_grid(*counts)[0])
                moved.add(at)
        stale |= {
            name for name, arm in self._arena.arms.items() if arm.issued and arm.description.label in moved
        }
        arms = [self._arena.arms[name] for name in sorted(stale) if self._arena.arms[name].counts.valid]
        if arms:
            base = np.stack([self._grids[arm.description.label][1] for arm in arms])
            fails, passes = [[getattr(arm.counts, side) for arm in arms] for side in ("fails", "passes")]
            accepted = [arm.counts.asked for arm in arms]
            seen = [arm.counts.asked + arm.counts.absent for arm in arms]
            absent = absent_share(accepted, seen, rules.sensitivity, rules.slip) if rules.slip else 0.0
            found = log_excess(base, fails, passes, rules.margin, absent)
            for arm, value in zip(arms, found, strict=True):
                arm.log_e = float(value)
        opened = [arm for arm in self._arena.arms.values() if arm.counts.valid]
        sure = log_e_bh([arm.log_e for arm in opened], rules.fdr, self._arena.most_tried)
        self._arena.claimed = [arm for arm, yes in zip(opened, sure, strict=True) if yes]

    def need(self) -> float:
        """log of the evidence at which a description may stop: a little more than e-BH asks for now."""
        logs = [arm.log_e for arm in self._arena.arms.values() if arm.tested]
        return evidence_needed(logs, self._arena.rules.fdr, self._arena.most_tried)
