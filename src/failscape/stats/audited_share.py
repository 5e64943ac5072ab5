"""How many of a list are wrong at the most, from a random sample of it that was put to a test. Pure.

A test lets something wrong through with a known probability at the most, its *size*. So the number of the
sampled ones that were not confirmed tells how many of the whole list are wrong, whatever made the list, and
however many right ones the test happens not to confirm.
"""

import math
from functools import lru_cache

import numpy as np
from scipy import stats

from failscape.stats.evalues import log_bet

#: Evidence that may be asked for, as e-values. A weak test of many findings tells more of their list than a
#: strong test of few, since images grow with log(1/size) and what a test is worth with 1 − size. In a short
#: list all can be tested, and then a stronger test tells more.
LEVELS = (2.0, 4.0, 10.0, 40.0, 200.0)
#: Evidence for the contrary after which a test is given up.
REFUTED = math.log(20)
#: Images after which a test is given up. Its size is computed for so many.
MOST_IMAGES = 100


@lru_cache(maxsize=65536)
def log_failing(passes: int, fails: int, limit: float) -> float:
    """log e against “it succeeds at `limit` or more often”."""
    return float(log_bet(passes, fails, limit))


@lru_cache(maxsize=65536)
def log_passing(passes: int, fails: int, limit: float) -> float:
    """log e against “it succeeds less often than `limit`”."""
    return float(log_bet(fails, passes, 1 - limit))


@lru_cache(maxsize=4096)
def size_of_test(limit: float, level: float) -> float:
    """How likely a rate of exactly `limit` is shown to lie below, by an e-value of `level`, within
    `MOST_IMAGES`. Exact.

    Higher rates are shown to lie below less often. By symmetry `size_of_test(1 - limit, level)` is the size
    of the test that a rate lies above `limit`.
    """
    needed = math.log(level)
    alive = np.ones(1)
    crossed = 0.0
    for images in range(1, MOST_IMAGES + 1):
        failed = np.concatenate([[0.0], alive * (1 - limit)])
        alive = failed + np.concatenate([alive * limit, [0.0]])
        fails = np.arange(images + 1)
        confirmed = log_bet(images - fails, fails, limit) >= needed
        crossed += float(alive[confirmed].sum())
        alive = np.where(confirmed, 0.0, alive)
    return crossed


def most_wrong(listed: int, sampled: int, unconfirmed: int, size: float, doubt: float) -> int:
    """The largest number of wrong ones in a list that a sample of it does not contradict.

    Args:
        listed: how many are in the list.
        sampled: how many of them were drawn at random and tested.
        unconfirmed: how many of those the test did not confirm.
        size: the probability at the most that a wrong one is confirmed.
        doubt: the probability at the most that the answer is too small.
    """
    if not 0 <= unconfirmed <= sampled <= listed:
        raise ValueError(
            f"`0 <= unconfirmed <= sampled <= listed` must hold, but got {unconfirmed}, {sampled}, {listed}"
        )
    low, high = 0, listed
    while low < high:
        middle = (low + high + 1) // 2
        if _as_few(listed, sampled, unconfirmed, middle, size) > doubt:
            low = middle
        else:
            high = middle - 1
    return low


def _as_few(listed: int, sampled: int, unconfirmed: int, wrong: int, size: float) -> float:
    """How likely at most `unconfirmed` are not confirmed if `wrong` are wrong, and all others confirmed."""
    drawn = np.arange(min(wrong, sampled) + 1)
    chances = stats.hypergeom.pmf(drawn, listed, wrong, sampled)
    return float((chances * stats.binom.cdf(unconfirmed, drawn, 1 - size)).sum())


def share_right(listed: int, sampled: int, unconfirmed: int, size: float, doubt: float) -> float:
    """The share of a list that is right at the least."""
    return 1 - most_wrong(listed, sampled, unconfirmed, size, doubt) / listed if listed else 0.0


def sample_needed(listed: int, share: float, size: float, doubt: float) -> int | None:
    """The smallest sample that shows `share` of a list to be right if all of it is confirmed, or None."""
    if share_right(listed, listed, 0, size, doubt) < share:
        return None
    low, high = 0, listed
    while low < high:
        middle = (low + high) // 2
        if share_right(listed, middle, 0, size, doubt) >= share:
            high = middle
        else:
            low = middle + 1
    return low


#: Quantiles that stand for a whole distribution of rates.
_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


@lru_cache(maxsize=65536)
def images_expected(passes: int, fails: int, limit: float, level: float) -> float:
    """About how many images a test takes of something that so far passed and failed so often.

    Wald's approximation, the evidence needed by what an image brings on average, over the rates that the
    counts leave open: near the limit a test is long, and counts are seldom sure that a rate is not near it.
    """
    rates = np.clip(stats.beta.ppf(_QUANTILES, passes + 1, fails + 1), 1e-3, 1 - 1e-3)
    nats = rates * np.log(rates / limit) + (1 - rates) * np.log((1 - rates) / (1 - limit))
    images = 1 + math.log(level) / np.maximum(nats, 1e-6)
    return float(np.minimum(images, MOST_IMAGES).mean())
