"""A predictor without torch: ridge regression on which entity, value, class and kind a node has.

Values are taken alone, with the entity's classes, and in pairs. It needs no embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr
from scipy.special import expit, logit

from failscape.spaces.corpus import Corpus
from failscape.spaces.lattice import Node

SOFTEN = 0.02
"""Rates are kept this far from 0 and 1, where log-odds are infinite."""

PENALTY = 1.0


class RidgePredictor:
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._columns: dict[tuple[object, ...], int] = {}
        self._weights: NDArray[np.float64] = np.zeros(0)
        self._mean = 0.0

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None:
        self._columns = {}
        log_odds = logit(np.clip(rates, SOFTEN, 1 - SOFTEN))
        self._mean = float(np.mean(log_odds))
        table = self._table(nodes, learn=True)
        self._weights = lsqr(table, log_odds - self._mean, damp=PENALTY**0.5, iter_lim=200)[0]

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        return np.asarray(expit(self._mean + self._table(nodes, learn=False) @ self._weights))

    def _table(self, nodes: Sequence[Node], learn: bool) -> sparse.csr_array:
        """One row of ones and zeros per node. What was not learnt from has no column."""
        columns, places, ends = self._columns, list[int](), [0]
        for node in nodes:
            for term in self._terms(node):
                place = columns.setdefault(term, len(columns)) if learn else columns.get(term, -1)
                if place >= 0:
                    places.append(place)
            ends.append(len(places))
        return sparse.csr_array((np.ones(len(places)), places, ends), shape=(len(nodes), len(columns)))

    def _terms(self, node: Node) -> list[tuple[object, ...]]:
        entity = self._corpus.entities[node.entity]
        terms: list[tuple[object, ...]] = [(len(node.values),), (entity.name,)]
        for level in (entity.sub_class, entity.upper_class):
            terms.append(("class", level))
            terms += [("class", level, value) for value in node.values]
        for value in node.values:
            terms += [("kind", self._corpus.values[value].kind), ("value", value), (entity.name, value)]
        terms += [("pair", *pair) for pair in combinations(node.values, 2)]
        return terms
