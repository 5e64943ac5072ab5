"""How much evidence a claim needs when e-BH will decide over all tests: the one home of that sum. Pure."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from failscape.stats.evalues import log_e_bh

#: A test is left alone with so many times the evidence that e-BH asks of it now: the number of tests grows
#: while others are under way, and a test that falls short by a little would have been stopped too early. It
#: changes how many images a claim costs, never whether a claim is valid.
MARGIN = 1.25

#: However many claims there are, a test is not left alone below this multiple of 1 / level: the largest claim
#: of all needs 1 / level, and with the margin it is not the first to fall.
LEAST_FACTOR = 1.5


class AuditLimits(NamedTuple):
    """What labels of people are held against: a failure rate above `margin`, e-BH at `level` over `tests`."""

    margin: float
    level: float
    tests: int


def evidence_needed(log_e_values: ArrayLike, level: float, tests: int) -> float:
    """log e at which a test may be left alone: e-BH over `tests` will claim it, with a margin.

    e-BH asks tests / (level · claims) of each claim; those with e ≥ 1 / level are taken to be the claims.
    """
    logs = np.asarray(log_e_values, dtype=np.float64)
    claims = max(int((logs >= math.log(1 / level)).sum()), 1)
    return evidence_for(claims, level, tests)


def evidence_for(claims: int, level: float, tests: int) -> float:
    """The same, where it is known how many claims will stand in the list."""
    return math.log(max(LEAST_FACTOR, MARGIN * tests / claims) / level)


def certify(evidence: NDArray[np.float64], tests: Iterable[int], level: float, total: int) -> set[int]:
    """The places in `evidence` (log e) that e-BH claims among `tests`, counting `total` of them."""
    places = np.array(sorted(tests), dtype=np.int64)
    if not len(places):
        return set()
    claimed = log_e_bh(evidence[places], level, max(total, len(places)))
    return set(places[claimed].tolist())
