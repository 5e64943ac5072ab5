"""Which nodes to claim: certified to fail by e-BH over every test, and minimal by what is known of ancestors.

Certification has a guarantee. Minimality is a matter of belief: claims are made as long as the mean of their
doubts stays below a level, the surest first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.posterior import Posterior
from failscape.hunts.t2i.certified.standing import ancestors_of


@dataclass(frozen=True, slots=True)
class Claim:
    """`doubt` is the posterior chance that an ancestor fails too, so that the claim is not minimal."""

    slot: int
    doubt: float


def believe(doubts: NDArray[np.float64], level: float) -> set[int]:
    """As many slots as keep the mean posterior chance of being wrong below the level: no certificate."""
    order = np.argsort(doubts, kind="stable")
    means = np.cumsum(doubts[order]) / np.arange(1, len(order) + 1)
    enough = (means <= level) & (doubts[order] <= tuning.MOST_DOUBT)
    return set(order[: int(enough.sum())].tolist())


def minimal_claims(ledger: Ledger, posterior: Posterior, failing: set[int], level: float) -> list[Claim]:
    """Failing nodes whose ancestors pass, as many as keep the mean doubt about that below the level.

    Where many claims would rest on one doubtful ancestor, all of them wait until more is known of it.
    """
    bases = {slot: bases_of(ledger, failing, slot) for slot in failing}
    resting = Counter(base for found in bases.values() if found is not None for base in found)
    doubts = {base: posterior.doubt(base) for base in resting}
    most = tuning.SHARED / 2 + tuning.SHARE_AT_RISK * len(failing)
    found = []
    for slot, ancestors in bases.items():
        if ancestors is not None and all(doubts[base] * resting[base] <= most for base in ancestors):
            found.append(Claim(slot, _doubt_of(posterior, slot, [doubts[base] for base in ancestors])))
    found = sorted(
        (one for one in found if one.doubt < tuning.MOST_DOUBT), key=lambda one: (one.doubt, one.slot)
    )
    if not found:
        return []
    means = np.cumsum([claim.doubt for claim in found]) / np.arange(1, len(found) + 1)
    return found[: int((means <= level).sum())]


def bases_of(ledger: Ledger, failing: set[int], slot: int) -> list[int] | None:
    """The slots of all ancestors; None if one is claimed to fail itself, or hardly known."""
    found = []
    for ancestor in ancestors_of(ledger.keys[slot]):
        at = ledger.slot_by_key.get(ancestor)
        if at is None or at in failing or ledger.passes[at] + ledger.fails[at] < tuning.LEAST_IMAGES:
            return None
        found.append(at)
    return found


def _doubt_of(posterior: Posterior, slot: int, doubts: list[float]) -> float:
    """The chance that one of the ancestors fails too, now that the node itself is known to fail.

    A failing parent explains a failing child: that speaks against the parent, the more so the less the child
    was expected to fail by itself.
    """
    expected = max(posterior.before(slot).fails, tuning.LEAST_EXPECTED)
    sure = 1.0
    for doubt in doubts:
        sure *= 1 / (1 + doubt / max(1 - doubt, 1e-9) / expected)
    return 1 - sure
