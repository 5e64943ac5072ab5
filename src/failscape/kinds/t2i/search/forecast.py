"""What to expect of a node with given counts: will it be certified, at what cost, does it pass?

Answers depend on a prior, a few counts and the bar only, so most are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.calibration import NO_OFFSETS, Offsets, Role
from failscape.search.belief.nodes import Ints, Nodes
from failscape.spaces.corpus import Corpus
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import JudgeAccuracy, Limits
from failscape.stats.rate_priors import RATES, log_likelihoods, relative_entropy

Floats = NDArray[np.float64]


_MOST_TABULATED = 1_000_000
"""Combinations of kinds that are kept in a table; with more, those that are met are sorted."""


class Bars:
    """The judged rates that nodes are tested against: one pair for a perfect judge, else by checks.

    A node fails below `threshold`. As an ancestor it passes from `threshold` − `tolerance` on.
    """

    def __init__(
        self, corpus: Corpus, accuracy: JudgeAccuracy, threshold: float, tolerance: float = 0.0
    ) -> None:
        self._names = [accuracy.named(value.kind, value.name) for value in corpus.values]
        kinds = sorted(set(self._names))
        number = {kind: place for place, kind in enumerate(kinds)}
        self._kinds = kinds
        # From 1 on; the last place, which NO_VALUE is the index of, has 0.
        self._kind = np.array([*(number[name] + 1 for name in self._names), 0], dtype=np.int64)
        self._accuracy = accuracy
        self._threshold = threshold
        self._passing = threshold - tolerance
        self._known: dict[tuple[int, ...], int] = {}
        self._table = np.zeros(0, dtype=np.int64)
        self.limits: list[Limits] = []

    def of(self, nodes: Nodes) -> Ints:
        """The number of each node's bar."""
        base, width = len(self._kinds) + 1, nodes.values.shape[1]
        codes = self._kind[nodes.values[:, 0]]
        for column in range(1, width):
            codes = codes * base + self._kind[nodes.values[:, column]]
        if base**width > _MOST_TABULATED:
            unique, inverse = np.unique(codes, return_inverse=True)
            bars = [self._bar(_digits(code, base)) for code in unique.tolist()]
            return np.asarray(np.array(bars, dtype=np.int64)[inverse.ravel()])
        return self._look_up(codes, base, width)

    def _look_up(self, codes: Ints, base: int, width: int) -> Ints:
        """From a table of all codes, filled as they are met: nodes are many, combinations of kinds few."""
        if len(self._table) != base**width:
            self._table = np.full(base**width, -1, dtype=np.int64)
        found = self._table[codes]
        if len(found) and found.min() < 0:
            for code in np.flatnonzero(np.bincount(codes[found < 0])).tolist():
                self._table[code] = self._bar(_digits(code, base))
            found = self._table[codes]
        return np.asarray(found)

    def _bar(self, kinds: tuple[int, ...]) -> int:
        if kinds not in self._known:
            names = ("entity", *(self._kinds[kind] for kind in kinds))
            fail = self._accuracy.believed(names, self._threshold).fail
            passes = self._accuracy.believed(names, self._passing).passes
            rounded = Limits(round(fail, 6), round(passes, 6))
            if rounded not in self.limits:
                self.limits.append(rounded)
            self._known[kinds] = self.limits.index(rounded)
        return self._known[kinds]


def _digits(code: int, base: int) -> tuple[int, ...]:
    """The kinds that a code was made of, ascending; 0 stands for none."""
    kinds = []
    while code:
        code, digit = divmod(code, base)
        kinds.append(digit - 1)
    return tuple(sorted(kind for kind in kinds if kind >= 0))


#: A layer, a row of its priors, and a bar: what is expected of a node before its first image.
Prior = tuple[int, int, int]
#: (passes, fails) of all images of a node, then of those that are evidence.
Tally = tuple[int, int, int, int]
NO_IMAGES: Tally = (0, 0, 0, 0)


class ForecastRow(NamedTuple):
    """`worth` is claims per image; `fails` and `passes` are probabilities; `log_e` is the evidence.

    `settles` is the chance that it can be shown to pass, `settling` the images that this takes.
    """

    worth: float
    fails: float
    passes: float
    log_e: float
    settles: float
    settling: float


class Goal(NamedTuple):
    """When a node counts as failing, for the search.

    `needs` are nats of evidence, for entities and for all other nodes: enough for a certificate. `level` is
    the part of the claims that may be wrong (`fdr`). `chance`, where it is set, is a posterior chance to fail
    that will do instead; to certify what reached it is worth `certificate` of a claim.
    """

    needs: tuple[float, float]
    level: float
    chance: float | None = None
    certificate: float = tuning.CERTIFICATE

    def need(self, layer: int) -> float:
        return self.needs[min(layer, 1)]

    def proven(self, layer: int, view: ForecastRow) -> bool:
        return view.log_e >= self.need(layer)

    def likely(self, fails: float, images: int) -> bool:
        return self.chance is not None and fails >= self.chance and images >= tuning.LEAST_OWN_IMAGES

    def missing(self, layer: int, fails: float, images: int, log_e: float) -> tuple[float, float]:
        """Nats that are missing to the next aim, and how much that aim is worth in claims.

        The first aim is to be claimed, by the shorter way; what is listed may still be certified.
        """
        proof = self.need(layer) - log_e + tuning.OVERSHOOT
        if self.chance is None:
            return proof, 1.0
        if self.likely(fails, images):
            return proof, self.certificate
        return min(proof, _log_odds(self.chance) - _log_odds(fails) + tuning.OVERSHOOT / 2), 1.0


def spotless_images(threshold: float, level: float) -> float:
    """Images, all of which pass, that show at this level that a rate is not below the threshold."""
    return math.log(level) / math.log(threshold)


def _log_odds(chance: float) -> float:
    inside = min(max(chance, 1e-9), 1 - 1e-9)
    return math.log(inside / (1 - inside))


@lru_cache(maxsize=1 << 18)
def log_evidence(passes: int, fails: int, bar: float) -> float:
    """Evidence that a node fails, in nats."""
    return float(log_bet(passes, fails, bar))


@lru_cache(maxsize=4096)
def _entropy(bar: float) -> Floats:
    return np.maximum(relative_entropy(RATES, bar), 1e-6)


@lru_cache(maxsize=1 << 14)
def _likelihood(passes: int, fails: int) -> Floats:
    """Of all rates, the likeliest having 1."""
    logs = log_likelihoods(float(passes), float(fails))
    return np.asarray(np.exp(logs - logs.max()))


class _Sides(NamedTuple):
    """Which rates fail and which pass as ancestors, and the nats that an image of a failing one brings."""

    failing: NDArray[np.bool_]
    passing: NDArray[np.bool_]
    nats: Floats


@lru_cache(maxsize=4096)
def _sides(limit: Limits) -> _Sides:
    failing = limit.fail > RATES
    return _Sides(failing, limit.passes <= RATES, _entropy(limit.fail)[failing])


@lru_cache(maxsize=4096)
def _nats_of_passing(limit: Limits, rival: float) -> Floats:
    """What an image of a passing node brings against a failing rate."""
    return np.maximum(_entropy(rival)[_sides(limit).passing], 1e-3)


#: What `.sum()` is without its detour: a search asks for it a hundred times an image.
total = np.add.reduce
_EACH_STOP = tuning.STOPS[:, None]


def best_stop(weights: Floats, images: Floats, otherwise: float) -> tuple[float, float]:
    """When should one give up at the latest? (chance of success, mean images) of the best such plan.

    With chance `weights[i]` the aim takes `images[i]`; with the rest of the chances it is out of reach, which
    shows after `otherwise` images. There is no fixed limit: whatever pays best per image is taken.
    """
    hits = total(weights * (images <= _EACH_STOP), 1)
    spent = total(weights * np.minimum(images, _EACH_STOP), 1)
    spent += np.minimum(otherwise, tuning.STOPS) * max(1 - float(total(weights)), 0.0)
    best = int((hits / spent).argmax())
    return float(hits[best]), float(spent[best])


class Forecast:
    """Forecast rows under one belief."""

    def __init__(
        self,
        priors: Sequence[tuple[Floats, Floats]],
        limits: Sequence[Limits],
        goal: Goal,
        offsets: Offsets = NO_OFFSETS,
    ) -> None:
        """`offsets` shift the odds of the case that makes a claim wrong, by role of the node."""
        self.goal = goal
        self._priors = priors
        self.limits = limits
        self._factors = tuple(math.exp(offset) for offset in offsets)
        self._known: dict[tuple[int, ...], ForecastRow] = {}

    def of(self, prior: Prior, tally: Tally = NO_IMAGES) -> ForecastRow:
        key = prior + tally
        view = self._known.get(key)
        if view is None:
            view = self._known[key] = self._work_out(*prior, tally[:2], tally[2:])
        return view

    def fresh(self, layer: int, rows: Ints, bars: Ints, *fields: str) -> list[Floats]:
        """These fields of the forecasts for nodes without images."""
        width = len(self.limits)
        codes = rows * width + bars if width > 1 else rows
        table = np.zeros((len(fields), len(self._priors[layer][0]) * width))
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            view = self.of((layer, code // width, code % width))
            table[:, code] = [getattr(view, field) for field in fields]
        return [column[codes] for column in table]

    def densities(self, prior: Prior, counts: tuple[int, int]) -> tuple[Floats, Floats]:
        """Over the grid of rates, without offsets: for the claim that the node fails, and for the claim that
        it passes as an ancestor."""
        layer, row, _ = prior
        likelihood = _likelihood(*counts)
        claimed, ancestor = (table[row] * likelihood for table in self._priors[layer])
        return claimed / total(claimed), ancestor / total(ancestor)

    def sides(self, prior: Prior) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rates fail, and which pass as an ancestor."""
        found = _sides(self.limits[prior[2]])
        return found.failing, found.passing

    def _work_out(
        self, layer: int, row: int, bar: int, counts: tuple[int, int], bets: tuple[int, int]
    ) -> ForecastRow:
        """`counts` are all images of a node (passes, fails), `bets` those that are evidence."""
        limit, (passes, fails) = self.limits[bar], counts
        sides = _sides(limit)
        weights, as_ancestor = self.densities((layer, row, bar), counts)
        weights[~sides.failing] *= self._factors[Role.CLAIMED]
        as_ancestor[~sides.passing] *= self._factors[Role.ANCESTOR if layer else Role.ENTITY]
        weights /= total(weights)
        as_ancestor /= total(as_ancestor)
        failing = weights[sides.failing]
        evidence = log_evidence(*bets, limit.fail)
        fail = float(total(failing))
        ok = float(total(as_ancestor[sides.passing]))
        missing, value = self.goal.missing(layer, fail, passes + fails, evidence)
        images = np.maximum(1.0, missing / sides.nats)
        likely, cost = best_stop(failing, images, tuning.WASTED)
        worth = 0.0 if fail < tuning.NEGLIGIBLE and passes + fails else value * likely / max(cost, 1e-9)
        settles, settling = self._settling(as_ancestor, ok, limit, layer, counts)
        return ForecastRow(worth, fail, ok, evidence, settles, settling)

    def _settling(
        self, weights: Floats, ok: float, limit: Limits, layer: int, counts: tuple[int, int]
    ) -> tuple[float, float]:
        """The chance that a node can be settled to pass, and the images that it takes on average."""
        images, passing = sum(counts), _sides(limit).passing
        doubt = max(1 - ok, 1e-9)
        # Half of what a claim may be wrong by is left to its ancestors.
        missing = math.log(doubt / (0.5 * self.goal.level))
        least = float(max(tuning.LEAST_IMAGES - images, 0))
        if layer == 0:
            # An entity may take more, but so many failures wait that it pays.
            least = spotless_images(limit.passes, self.goal.level)
        if missing <= 0:
            return ok, least
        # What must be told from passing is the usual failing rate, not the threshold itself.
        rival = float(total((weights * RATES)[~passing]) / max(1 - ok, 1e-9))
        needed = np.maximum(1.0, missing / _nats_of_passing(limit, round(rival, 2)))
        settles, spent = best_stop(weights[passing], needed, tuning.WASTED)
        return settles, max(spent, least)
