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

from failscape.hunts.belief.nodes import NO_VALUE, Ints, Nodes
from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.doubt import temper
from failscape.spaces.corpus import Corpus
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import JudgeAccuracy, Limits
from failscape.stats.rate_priors import RATES, log_likelihoods, relative_entropy

Floats = NDArray[np.float64]


class Bars:
    """The judged rates that nodes are tested against: one pair for a perfect judge, else by checks."""

    def __init__(self, corpus: Corpus, accuracy: JudgeAccuracy, threshold: float) -> None:
        self._names = [value.kind for value in corpus.values]
        kinds = sorted(set(self._names))
        number = {kind: place for place, kind in enumerate(kinds)}
        self._kinds = kinds
        self._kind = np.array([number[name] for name in self._names], dtype=np.int64)
        self._accuracy = accuracy
        self._threshold = threshold
        self._known: dict[tuple[int, ...], int] = {}
        self.limits: list[Limits] = []

    def of(self, nodes: Nodes) -> Ints:
        """The number of each node's bar."""
        if not len(self._kind):
            return np.full(len(nodes), self._bar(()), dtype=np.int64)
        kinds = np.sort(np.where(nodes.values == NO_VALUE, 0, self._kind[nodes.values] + 1), axis=1)
        base = len(self._kinds) + 1
        codes = np.zeros(len(nodes), dtype=np.int64)
        for column in range(kinds.shape[1]):
            codes = codes * base + kinds[:, column]
        unique, inverse = np.unique(codes, return_inverse=True)
        bars = [self._bar(_digits(code, base)) for code in unique.tolist()]
        return np.asarray(np.array(bars, dtype=np.int64)[inverse.ravel()])

    def _bar(self, kinds: tuple[int, ...]) -> int:
        if kinds not in self._known:
            names = ("entity", *(self._kinds[kind] for kind in kinds))
            limits = self._accuracy.limits(names, self._threshold)
            rounded = Limits(round(limits.fail, 6), round(limits.passes, 6))
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


class ForecastRow(NamedTuple):
    """`worth` is certificates per image; `fails` and `passes` are probabilities; `log_e` is the evidence.

    `settles` is the chance that it can be shown to pass, `settling` the images that this takes.
    """

    worth: float
    fails: float
    passes: float
    log_e: float
    settles: float
    settling: float


@lru_cache(maxsize=1 << 18)
def log_evidence(passes: int, fails: int, bar: float) -> float:
    """Evidence that a node fails, in nats."""
    return float(log_bet(passes, fails, bar))


@lru_cache(maxsize=4096)
def _entropy(bar: float) -> Floats:
    return relative_entropy(RATES, bar)


class Forecast:
    """Forecast rows under one belief. `need` is the evidence, in nats, at which a node is certified."""

    def __init__(self, priors: Sequence[Floats], limits: Sequence[Limits], need: float) -> None:
        self.need = need
        self._priors = priors
        self._limits = limits
        self._known: dict[tuple[int, ...], ForecastRow] = {}

    def of(
        self, layer: int, row: int, bar: int, counts: tuple[int, int], bets: tuple[int, int]
    ) -> ForecastRow:
        """`counts` are all images of a node (passes, fails), `bets` those that are evidence."""
        key = (layer, row, bar, *counts, *bets)
        view = self._known.get(key)
        if view is None:
            view = self._known[key] = self._work_out(layer, row, bar, counts, bets)
        return view

    def fresh(self, layer: int, rows: Ints, bars: Ints) -> tuple[Floats, ...]:
        """`worth`, `fails`, `settles` and `settling` of nodes without images."""
        width = len(self._limits)
        codes, inverse = np.unique(rows * width + bars, return_inverse=True)
        views = [self.of(layer, code // width, code % width, (0, 0), (0, 0)) for code in codes.tolist()]
        parts = [(view.worth, view.fails, view.settles, view.settling) for view in views]
        found = np.array(parts, dtype=np.float64).reshape(-1, 4)[inverse.ravel()]
        return tuple(found.T)

    def _work_out(
        self, layer: int, row: int, bar: int, counts: tuple[int, int], bets: tuple[int, int]
    ) -> ForecastRow:
        limit, (passes, fails) = self._limits[bar], counts
        logs = log_likelihoods(np.array([float(passes)]), np.array([float(fails)]))[0]
        weights = self._priors[layer][row] * np.exp(logs - logs.max())
        weights /= weights.sum()
        failing = limit.fail > RATES
        evidence = log_evidence(*bets, limit.fail)
        fail = float(weights[failing].sum())
        ok = float(weights[limit.passes <= RATES].sum())
        left = max(tuning.MOST_IMAGES - passes - fails, 1)
        images = np.maximum(1.0, (self.need - evidence + tuning.OVERSHOOT) / _entropy(limit.fail))
        likely = float(weights[failing & (images <= left)].sum())
        cost = float(
            (weights[failing] * np.minimum(images[failing], tuning.MOST_IMAGES / 2)).sum()
        ) + tuning.WASTED * (1 - fail)
        settles, settling = self._settling(weights, limit, layer, counts)
        return ForecastRow(likely / max(cost, 1e-9), fail, ok, evidence, settles, settling)

    def _settling(
        self, weights: Floats, limit: Limits, layer: int, counts: tuple[int, int]
    ) -> tuple[float, float]:
        """The chance that a node can be settled to pass, and the images that it takes on average."""
        images, passing = sum(counts), limit.passes <= RATES
        ok = float(weights[passing].sum())
        if layer == 0:
            return ok, tuning.SETTLING_ENTITY
        doubt = temper(1 - ok, *counts, limit.passes)
        missing = math.log(doubt / tuning.DOUBT[min(layer, len(tuning.DOUBT) - 1)])
        if missing <= 0:
            return ok, float(max(tuning.LEAST_IMAGES - images, 0))
        left = max(tuning.MOST_SETTLING[min(layer, 1)] - images, 1)
        # What must be told from passing is the usual failing rate, not the threshold itself.
        rival = float((weights * RATES)[~passing].sum() / max(1 - ok, 1e-9))
        needed = np.maximum(1.0, missing / np.maximum(_entropy(round(rival, 2)), 1e-3))
        within = passing & (needed <= left)
        spent = (weights[passing] * np.minimum(needed[passing], left)).sum() + tuning.WASTED * (1 - ok)
        return float(weights[within].sum()), float(max(spent, tuning.LEAST_IMAGES - images))
