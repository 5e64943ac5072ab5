"""Which nodes to claim: certified to fail by e-BH over every test, and minimal by what is known of ancestors.

Certification has a guarantee. Minimality is a matter of belief: claims are made as long as the mean of their
doubts stays below a level, the surest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.hunts.t2i.certified.doubt import SHARED
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.posterior import Lens
from failscape.hunts.t2i.certified.standing import ancestors_of
from failscape.stats.fdr import log_e_bh

LEAST_IMAGES = 3
"""An ancestor with fewer images of its own is not known to pass."""

_SHARE_AT_RISK = 0.006
"""So large a share of all claims may be expected to fall with a single ancestor, and a little more."""

_LEAST_EXPECTED = 0.1
_MOST_DOUBT = 0.5


@dataclass(frozen=True, slots=True)
class Claim:
    """`doubt` is the posterior chance that an ancestor fails too, so that the claim is not minimal."""

    slot: int
    doubt: float


def certify(evidence: NDArray[np.float64], tests: Iterable[int], level: float, total: int) -> set[int]:
    """The slots that e-BH claims among `tests`, counting `total` of them."""
    slots = np.array(sorted(tests), dtype=np.int64)
    if not len(slots):
        return set()
    claimed = log_e_bh(evidence[slots], level, max(total, len(slots)))
    return set(slots[claimed].tolist())


def believe(doubts: NDArray[np.float64], level: float) -> set[int]:
    """As many slots as keep the mean posterior chance of being wrong below the level: no certificate."""
    order = np.argsort(doubts, kind="stable")
    means = np.cumsum(doubts[order]) / np.arange(1, len(order) + 1)
    enough = (means <= level) & (doubts[order] <= _MOST_DOUBT)
    return set(order[: int(enough.sum())].tolist())


def minimal_claims(ledger: Ledger, lens: Lens, failing: set[int], level: float) -> list[Claim]:
    """Failing nodes whose ancestors pass, as many as keep the mean doubt about that below the level.

    Where many claims would rest on one doubtful ancestor, all of them wait until more is known of it.
    """
    bases = {slot: bases_of(ledger, failing, slot) for slot in failing}
    resting = Counter(base for found in bases.values() if found is not None for base in found)
    doubts = {base: lens.doubt(base) for base in resting}
    most = SHARED / 2 + _SHARE_AT_RISK * len(failing)
    found = []
    for slot, ancestors in bases.items():
        if ancestors is not None and all(doubts[base] * resting[base] <= most for base in ancestors):
            found.append(Claim(slot, _doubt_of(lens, slot, [doubts[base] for base in ancestors])))
    found = sorted((one for one in found if one.doubt < _MOST_DOUBT), key=lambda one: (one.doubt, one.slot))
    if not found:
        return []
    means = np.cumsum([claim.doubt for claim in found]) / np.arange(1, len(found) + 1)
    return found[: int((means <= level).sum())]


def bases_of(ledger: Ledger, failing: set[int], slot: int) -> list[int] | None:
    """The slots of all ancestors; None if one is claimed to fail itself, or hardly known."""
    found = []
    for ancestor in ancestors_of(ledger.keys[slot]):
        at = ledger.slot_by_key.get(ancestor)
        if at is None or at in failing or ledger.passes[at] + ledger.fails[at] < LEAST_IMAGES:
            return None
        found.append(at)
    return found


def _doubt_of(lens: Lens, slot: int, doubts: list[float]) -> float:
    """The chance that one of the ancestors fails too, now that the node itself is known to fail.

    A failing parent explains a failing child: that speaks against the parent, the more so the less the child
    was expected to fail by itself.
    """
    expected = max(lens.before(slot).fails, _LEAST_EXPECTED)
    sure = 1.0
    for doubt in doubts:
        sure *= 1 / (1 + doubt / max(1 - doubt, 1e-9) / expected)
    return 1 - sure
