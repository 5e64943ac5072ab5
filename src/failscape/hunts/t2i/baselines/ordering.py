"""In which order the nodes of a layer are opened when a predictor guides the search.

After a warm-up in plain order, the nodes that are predicted to succeed least often come first. The predictor
is trained on nothing but the settled nodes, in the order settled, and only when an order is next needed: so
a resumed hunt trains once, and a hunt that is only looked at never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError
from failscape.spaces.lattice import Node

CHUNK = 8192
"""Candidates predicted at a time."""

DECIMALS = 6
"""Predictions that agree so far keep the plain order: the last bits depend on how nodes are batched."""


class Predictor(Protocol):
    """Guesses success rates of nodes that were not tried. Both calls depend on their arguments alone.

    `fit` starts anew each time: two predictors fitted to the same nodes in the same order predict the same.
    """

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None: ...

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]: ...


class Ordering:
    """Keeps what the predictor may learn from, and ranks candidates with it."""

    def __init__(self, predictor: Predictor, warm_up: int, retrain_every: int) -> None:
        if warm_up < 1 or retrain_every < 1:
            raise ConfigError(
                f"warm_up and retrain_every must be at least 1, but are {warm_up} and {retrain_every}",
                "set them to 1000 and 10000",
            )
        self._predictor = predictor
        self._warm_up = warm_up
        self._retrain_every = retrain_every
        self._nodes: list[Node] = []
        self._rates: list[float] = []
        self._trained_on = 0
        self._begun: set[Node] = set()
        self._met_at: dict[Node, int] = {}

    @property
    def version(self) -> int:
        """How many settled nodes the predictor should have learnt from by now; 0 during the warm-up."""
        more = len(self._nodes) - self._warm_up
        return 0 if more < 0 else self._warm_up + more // self._retrain_every * self._retrain_every

    def begin(self, node: Node) -> None:
        """Some images of this node are there already: it goes before all others."""
        self._begun.add(node)
        self._met_at[node] = self.version

    def learn(self, node: Node, rate: float | None) -> None:
        """A node is settled. Without a rate (no valid image) there is nothing to learn."""
        self._begun.discard(node)
        if rate is not None:
            self._nodes.append(node)
            self._rates.append(rate)

    def sort(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """Nodes of one layer, lowest prediction first; in plain order during the warm-up."""
        if not self.version:
            yield from nodes
            return
        waiting = _Ranked(self._predict)
        for node in nodes:
            if node in self._begun:
                yield node
            else:
                waiting.add(node)
        yield from waiting

    def scores(self) -> dict[Node, float]:
        """Predictions for the nodes of a hunt that was told again, by what was settled when each was met.

        So no node is predicted from its own images. Nodes of the warm-up have none.
        """
        found: dict[Node, float] = {}
        for version in sorted({size for size in self._met_at.values() if size}):
            nodes = [node for node, size in self._met_at.items() if size == version]
            self._predictor.fit(self._nodes[:version], self._rates[:version])
            self._trained_on = version
            found |= zip(nodes, np.round(self._predictor.predict(nodes), DECIMALS).tolist(), strict=True)
        return found

    def _predict(self, nodes: list[Node]) -> NDArray[np.float64]:
        self._train()
        return self._predictor.predict(nodes)

    def _train(self) -> None:
        size = self.version
        if size != self._trained_on:
            self._predictor.fit(self._nodes[:size], self._rates[:size])
            self._trained_on = size


class _Ranked:
    """Nodes by their predictions. A layer may have millions: they are kept as rows of numbers."""

    def __init__(self, predict: Callable[[list[Node]], NDArray[np.float64]]) -> None:
        self._predict = predict
        self._chunk: list[Node] = []
        self._rows: list[NDArray[np.int32]] = []
        self._rates: list[NDArray[np.float64]] = []

    def add(self, node: Node) -> None:
        self._chunk.append(node)
        if len(self._chunk) == CHUNK:
            self._close_chunk()

    def __iter__(self) -> Iterator[Node]:
        if self._chunk:
            self._close_chunk()
        if not self._rows:
            return
        rows, rates = np.concatenate(self._rows), np.concatenate(self._rates)
        for place in np.argsort(np.round(rates, DECIMALS), kind="stable"):
            entity, *values = rows[place].tolist()
            yield Node(entity, tuple(values))

    def _close_chunk(self) -> None:
        self._rows.append(np.array([(node.entity, *node.values) for node in self._chunk], dtype=np.int32))
        self._rates.append(np.asarray(self._predict(self._chunk)))
        self._chunk = []
