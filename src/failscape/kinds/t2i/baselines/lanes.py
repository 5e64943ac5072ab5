"""Lanes order the work: each walks its entities layer by layer and waits at the end of every layer.

Layer-major search is one lane with all entities, entity-major search one lane per entity. A node waits until
all its parents are tested and have passed. What is known is kept as sets of value indices (bits of an
integer) per entity and prefix of values: candidates come from a few AND operations, and half a million
decided nodes need little memory.

Inside a layer nodes come in the order of their numbers, unless a predictor says which come first: after a
warm-up in plain order, those that are predicted to succeed least often. It is trained on nothing but the
settled nodes, in the order settled, and only when an order is next needed: so a resumed hunt trains once, and
a hunt that is only looked at never does.

Random search is a lane, too: nodes drawn uniformly over the whole space. A failing node has its ancestors
tested next, because without them nothing could be called minimal.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError
from failscape.spaces.lattice import Bits, Lattice, Node, bits_of

#: Candidates predicted at a time.
CHUNK = 8192

#: Predictions that agree so far keep the plain order: the last bits depend on how nodes are batched.
DECIMALS = 6


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


Prefix = tuple[int, ...]


class Frontier:
    """The verdicts so far, and the candidates that follow from them."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._roots: dict[int, bool] = {}
        self._passed: dict[tuple[int, Prefix], Bits] = {}
        self._decided: dict[tuple[int, Prefix], Bits] = {}

    def decide(self, node: Node, passed: bool) -> None:
        """A node is settled; only `passed` ones let their children be opened."""
        if not node.values:
            self._roots[node.entity] = passed
            return
        key, bit = (node.entity, node.values[:-1]), 1 << node.values[-1]
        self._decided[key] = self._decided.get(key, 0) | bit
        if passed:
            self._passed[key] = self._passed.get(key, 0) | bit

    def has_passed(self, node: Node) -> bool:
        if not node.values:
            return self._roots.get(node.entity, False)
        return bool(self._passed.get((node.entity, node.values[:-1]), 0) >> node.values[-1] & 1)

    def ancestors_passed(self, node: Node) -> bool:
        """Of every node with fewer of its values."""
        sizes = range(len(node.values) - 1, -1, -1)
        smaller = chain.from_iterable(combinations(node.values, size) for size in sizes)
        return all(self.has_passed(Node(node.entity, values)) for values in smaller)

    def undecided(self, entity: int, layer: int) -> Iterator[Node]:
        """Candidates of one layer that are not settled yet, in the order of their numbers."""
        if layer == 0:
            if entity not in self._roots:
                yield Node(entity)
            return
        for prefix, bits in self._candidates(entity, layer):
            for value in bits_of(bits & ~self._decided.get((entity, prefix), 0)):
                yield Node(entity, (*prefix, value))

    def count(self, entity: int, layer: int) -> int:
        """How many candidates a layer has, settled or not."""
        if layer == 0:
            return 1
        return sum(bits.bit_count() for _, bits in self._candidates(entity, layer))

    def _candidates(self, entity: int, layer: int) -> Iterator[tuple[Prefix, Bits]]:
        """Per passing prefix, the last values for which every other parent passed as well."""
        if not self._roots.get(entity, False):
            return
        if layer == 1:
            yield (), self._lattice.plausible[entity]
            return
        for prefix in self._passing(entity, layer - 1):
            bits = self._lattice.later[prefix[-1]]
            for place in range(len(prefix)):
                bits &= self._passed.get((entity, prefix[:place] + prefix[place + 1 :]), 0)
                if not bits:
                    break
            else:
                yield prefix, bits

    def _passing(self, entity: int, layer: int) -> Iterator[Prefix]:
        """Passing nodes of a layer as tuples of values, ascending."""
        for prefix in self._passing(entity, layer - 1) if layer > 1 else ((),):
            for value in bits_of(self._passed.get((entity, prefix), 0)):
                yield (*prefix, value)


class Lane:
    """`waiting` counts its opened nodes that are not settled; the next layer starts when it is zero."""

    def __init__(
        self, entities: tuple[int, ...], frontier: Frontier, depth: int, order: Ordering | None = None
    ) -> None:
        self.waiting = 0
        self.layer = 0
        self.finished = not entities
        self._entities = entities
        self._frontier = frontier
        self._depth = depth
        self._order = order
        self._version = 0
        self._taken: set[Node] = set()
        self._candidates = self._walk()
        self._earlier = 0
        self._size: int | None = None

    def take(self, count: int) -> list[Node]:
        """The next nodes to open, at most `count`; empty while a layer waits for its last verdicts."""
        taken: list[Node] = []
        if self._order and self._order.version != self._version:
            self._reorder(self._order)
        while len(taken) < count and not self.finished:
            node = next(self._candidates, None)
            if node is not None:
                taken.append(node)
            elif self.waiting or taken:
                break
            else:
                self._next_layer()
        if self._order:
            self._taken.update(taken)
        return taken

    def exhausted(self) -> bool:
        """Nothing is left to open, now that nothing waits. Looks without choosing what comes first."""
        while not self.finished and not self.waiting and next(self._undecided(), None) is None:
            self._next_layer()
        return self.finished

    @property
    def total(self) -> int:
        """Nodes of the layers so far and of this one: what is known to be worth testing."""
        return self._earlier + self._layer_size()

    def _layer_size(self) -> int:
        if self._size is None:
            self._size = sum(self._frontier.count(entity, self.layer) for entity in self._entities)
        return self._size

    def _next_layer(self) -> None:
        if self.layer == self._depth:
            self.finished = True
            return
        self._earlier += self._layer_size()
        self._size = None
        self.layer += 1
        self._taken.clear()
        self._candidates = self._walk()

    def _reorder(self, order: Ordering) -> None:
        """The predictor has learnt more: rank anew what is not opened yet."""
        self._version = order.version
        self._taken.intersection_update(self._undecided())
        self._candidates = self._walk()

    def _walk(self) -> Iterator[Node]:
        if self._order is None:
            return self._undecided()
        return self._order.sort(node for node in self._undecided() if node not in self._taken)

    def _undecided(self) -> Iterator[Node]:
        for entity in self._entities:
            yield from self._frontier.undecided(entity, self.layer)


#: The order of all nodes is kept in memory, four bytes each.
LARGEST = 50_000_000


class RandomLane:
    """Has the same face as `Lane`: `take`, `exhausted`, `waiting`, `finished`, `layer`, `total`."""

    def __init__(self, lattice: Lattice, entities: tuple[int, ...], seed: int) -> None:
        self.waiting = 0
        self.layer = lattice.depth
        self.finished = not entities
        self.total = sum(lattice.layer_sizes)
        if self.total > LARGEST:
            raise ConfigError(
                f"random search takes at most {LARGEST:,} nodes, but there are {self.total:,}",
                "choose fewer entities or families, or a smaller depth",
            )
        self._lattice = lattice
        self._entities = frozenset(entities)
        self._seed = seed
        self._opened: set[Node] = set()
        self._asked_for: deque[Node] = deque()
        self._nodes = self._draw()

    def take(self, count: int) -> list[Node]:
        """The next nodes to open: ancestors of failures first. Empty when all that is left is in flight."""
        taken: list[Node] = []
        while len(taken) < count:
            node = self._asked_for.popleft() if self._asked_for else next(self._nodes, None)
            if node is None:
                break
            if node not in self._opened:
                self._opened.add(node)
                taken.append(node)
        self.finished = not taken and not self.waiting
        return taken

    def exhausted(self) -> bool:
        return self.finished

    def explain(self, node: Node) -> None:
        """The node failed: its ancestors are wanted, the smallest first."""
        for size in range(len(node.values)):
            self._asked_for += (Node(node.entity, values) for values in combinations(node.values, size))

    def _draw(self) -> Iterator[Node]:
        order = np.random.default_rng([self._seed, 11]).permutation(np.arange(self.total, dtype=np.uint32))
        for number in order:
            node = self._lattice.node(int(number))
            if node.entity in self._entities:
                yield node
