"""How a judge errs on one kind of check as it was measured, and what follows for images. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import inf, isinf, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.errors import ConfigError
from failscape.stats.intervals import one_sided


@dataclass(frozen=True, slots=True)
class Measured:
    """A probability as it was measured: `rate` over `of` cases. Infinitely many cases: known exactly.

    `of` need not be whole: weighted samples are worth some number of independent cases.
    """

    rate: float
    of: float = inf

    def __post_init__(self) -> None:
        if not (0 <= self.rate <= 1 and self.of >= 0):
            raise ConfigError(
                f"a measured rate needs `0 <= rate <= 1` and `of >= 0`, but got {self.rate} of {self.of}",
                "mend the accuracy file",
            )

    @classmethod
    def counted(cls, hits: float, of: float) -> Measured:
        if not 0 <= hits <= of:
            raise ConfigError(
                f"`0 <= hits <= of` must hold, but got {hits} of {of}", "mend the accuracy file"
            )
        return cls(hits / of if of else 0.5, float(of))

    @classmethod
    def from_data(cls, data: Any) -> Measured:
        """A bare number is exact; else `{"hits": 95, "of": 100}` or `{"rate": 0.95, "of": 100}`."""
        if not isinstance(data, Mapping):
            return cls(float(data))
        if "rate" in data:
            return cls(float(data["rate"]), _number(data["of"]))
        return cls.counted(float(data["hits"]), float(data["of"]))

    def as_data(self) -> float | dict[str, float]:
        return self.rate if self.exact else {"rate": self.rate, "of": self.of}

    def __str__(self) -> str:
        return f"{self.rate:.3f}" if self.exact else f"{self.rate:.3f} from {self.of:,.0f}"

    @property
    def exact(self) -> bool:
        return isinf(self.of)

    def at_least(self, error_probability: float) -> float:
        """Below this with probability `error_probability` at most."""
        return self.rate if self.exact else one_sided(self.rate * self.of, self.of, error_probability)[0]

    def at_most(self, error_probability: float) -> float:
        return self.rate if self.exact else one_sided(self.rate * self.of, self.of, error_probability)[1]


def _number(data: Any) -> float:
    """Whole numbers stay whole: what was counted has the same digest when it is read back."""
    return data if type(data) in (int, float) else float(data)


EXACT = Measured(1.0)


@dataclass(frozen=True, slots=True)
class KindAccuracy:
    """How a judge errs on one kind of check."""

    sensitivity: Measured = EXACT
    specificity: Measured = EXACT

    @property
    def exact(self) -> bool:
        return self.sensitivity.exact and self.specificity.exact

    def __str__(self) -> str:
        return f"sensitivity {self.sensitivity}, specificity {self.specificity}"


class Chances(NamedTuple):
    """For each check of a node: how often it is called true when it holds, and when it does not."""

    hit: tuple[float, ...]
    slip: tuple[float, ...]

    @property
    def right(self) -> float:
        """How often an image that shows everything is passed."""
        return prod(self.hit)

    def wrong(self, best: Callable[[float, float], float]) -> float:
        """How often an image that misses something is passed, at `best` (`min` or `max`) over what it misses.

        At least one check must drop. With a judge better than chance the least is when all drop, the most
        when one does.
        """
        others = [best(hit, slip) for hit, slip in zip(self.hit, self.slip, strict=True)]
        cases = (slip * prod(others[:at] + others[at + 1 :]) for at, slip in enumerate(self.slip))
        return reduce(best, cases)

    @property
    def slips_most(self) -> float:
        """How often a node is passed that always misses one check only, the one that slips through most."""
        rests = (prod(self.hit[:at] + self.hit[at + 1 :]) for at in range(len(self.hit)))
        return max(slip * rest for slip, rest in zip(self.slip, rests, strict=True))


Floats = NDArray[np.float64]

#: The quantile at 5 % is then known to about a third of a percent of probability.
DRAWS = 4_000


def lowest_limit(checks: Sequence[KindAccuracy], threshold: float, error_probability: float) -> float:
    """Below this lies the judged rate of a node whose true rate is τ, with at most that probability."""
    known = {one: _drawn(one) for one in checks}
    hits, slips = (np.array([known[one][part] for one in checks]) for part in (0, 1))
    right = hits.prod(axis=0)
    others = np.minimum(hits, slips)
    # A failed image misses at least one check; which, and what else, is the worst case.
    wrong = np.min(
        [slips[at] * np.delete(others, at, axis=0).prod(axis=0) for at in range(len(checks))], axis=0
    )
    limits = np.minimum(threshold * right + (1 - threshold) * wrong, right)
    return float(np.quantile(limits, error_probability, method="lower"))


@lru_cache(maxsize=256)
def _drawn(check: KindAccuracy) -> tuple[Floats, Floats]:
    """How often a check is called true when it holds, and when it does not: cautious draws of both.

    Checks of one kind share their draws: where the judge is bad at one of them it is bad at the other.
    """
    rng = np.random.default_rng(zlib.crc32(str(check).encode()))
    luck = rng.random((2, DRAWS))
    return _low(check.sensitivity, luck[0]), 1 - _high(check.specificity, luck[1])


def _low(measured: Measured, luck: Floats) -> Floats:
    """Draws whose quantiles are the exact lower bounds."""
    if measured.exact:
        return np.full(len(luck), measured.rate)
    hits = measured.rate * measured.of
    return (
        np.asarray(special.betaincinv(hits, measured.of - hits + 1, luck))
        if hits > 0
        else np.zeros(len(luck))
    )


def _high(measured: Measured, luck: Floats) -> Floats:
    if measured.exact:
        return np.full(len(luck), measured.rate)
    misses = (1 - measured.rate) * measured.of
    if misses <= 0:
        return np.ones(len(luck))
    return np.asarray(special.betaincinv(measured.of - misses + 1, misses, luck))
