"""Which nodes to claim: certified to fail by e-BH over all that was opened, and minimal by their ancestors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from failscape.hunts.t2i.standing import ancestors_of
from failscape.stats.fdr import log_e_bh
from failscape.trials import Finding

if TYPE_CHECKING:
    from failscape.hunts.t2i.certified import CertifiedHunt

NOT_MINIMAL = 0.03


@dataclass(frozen=True, slots=True)
class Claim:
    slot: int
    log_e: float
    doubt: float
    """The posterior chance that it is not minimal."""


class Claims:
    def __init__(self, hunt: CertifiedHunt) -> None:
        self._hunt = hunt
        self._agenda = hunt.agenda
        self._evidence = hunt.evidence()
        if hunt.settings.tier == "probable":
            chances = np.array([1 - self._agenda.view_of(slot).fails for slot in range(len(hunt.ledger))])
            order = np.argsort(chances, kind="stable")
            means = np.cumsum(chances[order]) / np.arange(1, len(order) + 1)
            enough = (means <= hunt.settings.fdr / 2) & (chances[order] < 0.2)
            self.failing = set(order[: int(enough.sum())].tolist())
        else:
            tests = np.array(sorted(hunt.ledger.adopted), dtype=np.int64)
            claimed = log_e_bh(self._evidence[tests], hunt.settings.fdr, max(hunt.tested, len(tests)))
            self.failing = set(tests[claimed].tolist())

    def minimal(self) -> list[Claim]:
        """Certified failures whose ancestors pass, as many as keep the mean doubt below its level."""
        found = []
        for slot in self.failing:
            doubt = self._doubt(slot)
            if doubt < 0.5:
                found.append(Claim(slot, float(self._evidence[slot]), doubt))
        found.sort(key=lambda claim: (claim.doubt, claim.slot))
        if not found:
            return []
        means = np.cumsum([claim.doubt for claim in found]) / np.arange(1, len(found) + 1)
        return found[: int((means <= NOT_MINIMAL).sum())]

    def _doubt(self, slot: int) -> float:
        """The chance that one of the ancestors fails too, now that the node itself is known to fail."""
        ledger = self._hunt.ledger
        sure = 1.0
        expected = max(self._agenda.prior_of(slot).fails, 0.1)
        for ancestor in ancestors_of(ledger.keys[slot]):
            at = ledger.slot_by_key.get(ancestor)
            if at is None or at in self.failing or ledger.passes[at] + ledger.fails[at] < 3:
                return 1.0
            passes = self._agenda.view_of(at).passes
            # A failing parent explains a failing child: that speaks for it, the more the less the child was
            # expected to fail by itself.
            odds = (1 - passes) / max(passes, 1e-9) / expected
            sure *= 1 / (1 + odds)
        return 1 - sure

    def finding(self) -> Finding:
        raise NotImplementedError
