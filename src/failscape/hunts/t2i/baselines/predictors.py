"""From `search.predictor` to an ordering. This is the only place that knows which predictors exist.

A predictor without torch: ridge regression on which entity, value, class and kind a node has.

Values are taken alone, with the entity's classes, and in pairs. It needs no embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr
from scipy.special import expit, logit

from failscape.errors import ConfigError
from failscape.hunts.t2i.baselines.ordering import Ordering, Predictor
from failscape.hunts.t2i.baselines.predictor_transformer import Training, TransformerPredictor, require_torch
from failscape.hunts.t2i.config import PredictorConfig, T2IConfig
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.spaces.embeddings import load_embeddings
from failscape.spaces.lattice import Lattice, Node

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


USED_BY = ("failureatlas", "curtailed", "sprt")
"""Strategies that go layer by layer. The others choose by themselves."""


def build_ordering(settings: PredictorConfig, lattice: Lattice, seed: int) -> Ordering | None:
    """Nothing is loaded yet: a hunt that is only looked at needs neither torch nor the embeddings."""
    if settings.kind == "none":
        return None
    predictor = _build_predictor(settings, lattice, seed)
    return Ordering(predictor, settings.warm_up, settings.retrain_every)


def _build_predictor(settings: PredictorConfig, lattice: Lattice, seed: int) -> Predictor:
    if settings.kind == "ridge":
        return RidgePredictor(lattice.corpus)
    training = Training(
        lattice.depth, epochs=settings.epochs, learning_rate=settings.learning_rate, seed=seed % 2**32
    )
    checkpoints = Path(settings.checkpoints).expanduser() if settings.checkpoints else None
    return TransformerPredictor(
        lambda: load_embeddings(settings.embeddings, lattice.corpus), training, checkpoints
    )


def forewarn_predictor(config: T2IConfig) -> list[str]:
    """Raises now what would otherwise stop the run after the warm-up, and says when it is of no use."""
    settings, images = config.search.predictor, config.budget.images
    if settings.kind == "none":
        return []
    if config.search.strategy not in USED_BY:
        return [f"search.predictor is not used by strategy {config.search.strategy}"]
    if settings.kind == "transformer":
        require_torch()
        load_embeddings(settings.embeddings, load_corpus(config.space.corpus))
        _make_folder(settings.checkpoints)
    nodes = None if images is None else images // config.search.images_per_node
    if nodes is not None and nodes <= settings.warm_up:
        return [
            f"the predictor will never be asked: it warms up for {settings.warm_up:,} nodes, and a budget of "
            f"{images:,} images settles about {nodes:,} (lower search.predictor.warm_up)"
        ]
    return []


def _make_folder(checkpoints: str) -> None:
    try:
        if checkpoints:
            Path(checkpoints).expanduser().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"search.predictor.checkpoints: {checkpoints!r} cannot be made a folder ({error.strerror})",
            "name another folder, or leave it out",
        ) from None
