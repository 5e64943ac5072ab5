"""Counts of nodes that do not follow the search, and what a judge with known errors lets through.

They are the common input of a survey's parts: a panel drawn at random beforehand, per layer, and findings
tried again. Both are plain lists of tries, each node a fixed number of times. They say what the search cannot
say of itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.spaces.lattice import Lattice, Node
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Trial, Verdict

Floats = NDArray[np.float64]


class TriedCounts(NamedTuple):
    """Valid images of a node."""

    passes: int
    fails: int

    @property
    def images(self) -> int:
        return self.passes + self.fails


NodeTally = Mapping[Node, TriedCounts]


class PassChances(NamedTuple):
    """How often a good and a bad image pass the judge. Judged rate = bad + (good − bad)·true rate."""

    good: float = 1.0
    bad: float = 0.0

    def failure(self, counts: TriedCounts) -> float:
        """An unbiased guess of the true failure rate; outside 0 … 1 when luck and judge conspire."""
        return (self.good - counts.passes / counts.images) / max(self.good - self.bad, 1e-6)


class JudgeBounds(NamedTuple):
    """As measured, and the two ends of what the measurements leave open.

    `fewest` explains away as many failures as possible, `most` as few.
    """

    measured: PassChances
    fewest: PassChances
    most: PassChances


@dataclass(frozen=True)
class JudgeView:
    """What the judge makes of nodes. Without `accuracy` it is taken to be perfect."""

    lattice: Lattice
    accuracy: JudgeAccuracy | None = None
    _known: dict[tuple[str, ...], JudgeBounds] = field(default_factory=dict, repr=False)

    def bounds(self, node: Node) -> JudgeBounds:
        if self.accuracy is None:
            return _PERFECT
        kinds = kinds_of(self.lattice, node)
        if kinds not in self._known:
            self._known[kinds] = self._work_out(self.accuracy, kinds)
        return self._known[kinds]

    def rows(self, nodes: Iterable[Node]) -> Floats:
        """What `stats.deconvolve` takes as `seen`."""
        rows = [self.bounds(node).measured for node in nodes]
        return np.array(rows, np.float64).reshape(-1, 2)

    @staticmethod
    def _work_out(accuracy: JudgeAccuracy, kinds: tuple[str, ...]) -> JudgeBounds:
        """A failed image may miss one check or all of them; halfway is the best single guess."""
        error_probability = (1 - accuracy.level) / (4 * max(1, len(accuracy.kinds)))
        now, low, high = (
            accuracy.chances(kinds),
            accuracy.lowest(kinds, error_probability),
            accuracy.highest(kinds, error_probability),
        )
        return JudgeBounds(
            PassChances(now.right, (now.wrong(min) + now.wrong(max)) / 2),
            PassChances(low.right, low.wrong(min)),
            PassChances(high.right, high.wrong(max)),
        )


_PERFECT = JudgeBounds(PassChances(), PassChances(), PassChances())


def kinds_of(lattice: Lattice, node: Node) -> tuple[str, ...]:
    """The kinds of a node's checks, in the order of `Wording.checks`."""
    values = lattice.corpus.values
    return ("entity", *(values[value].kind for value in node.values))


def columns(tally: NodeTally, nodes: Sequence[Node]) -> tuple[Floats, Floats]:
    """Passes and fails of nodes, as arrays."""
    found = np.array([tally[node] for node in nodes], np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def tried(tally: NodeTally) -> dict[Node, TriedCounts]:
    """Nodes with at least one valid image, in a fixed order."""
    return {node: TriedCounts(*tally[node]) for node in sorted(tally) if sum(tally[node]) > 0}


#: Per panel node. Fewer would do for means, but not to tell failing nodes from passing ones.
PANEL_IMAGES = 4

#: Of each finding tried again, before there were audits.
REPLICATED_IMAGES = 8


class Draws:
    """Nodes that each get `images` tries, whatever comes of them. `mark` starts the label of its keys."""

    def __init__(self, mark: str, images: int) -> None:
        self.mark = mark
        self.images = images
        self.asked = 0
        self._order: list[str] = []
        self._node: dict[str, Node] = {}
        self._told: dict[str, int] = {}
        self._flying: dict[str, int] = {}
        self._counts: dict[str, list[int]] = {}
        self._next = 0

    def add(self, subject: str, node: Node) -> None:
        """Adding a node again changes nothing."""
        if subject not in self._node:
            self._order.append(subject)
            self._node[subject] = node
            self._told[subject] = self._flying[subject] = 0
            self._counts[subject] = [0, 0]

    def __len__(self) -> int:
        return len(self._order)

    @property
    def subjects(self) -> Sequence[str]:
        return self._order

    def next_try(self) -> tuple[str, Node, int] | None:
        """The next try, taking all nodes in turn so that all are tried a little before one is tried a lot."""
        for _ in range(len(self._order)):
            subject = self._order[self._next % len(self._order)]
            self._next += 1
            taken = self._told[subject] | self._flying[subject]
            number = (~taken & (taken + 1)).bit_length() - 1
            if number < self.images:
                self._flying[subject] |= 1 << number
                self.asked += 1
                return subject, self._node[subject], number
        return None

    def tell(self, trial: Trial, number: int) -> bool:
        """Count a trial; false if it was told before."""
        bit = 1 << number
        if self._told[trial.subject] & bit:
            return False
        if self._flying[trial.subject] & bit:
            self._flying[trial.subject] &= ~bit
        else:
            self.asked += 1
        self._told[trial.subject] |= bit
        if trial.verdict in (Verdict.PASS, Verdict.FAIL):
            self._counts[trial.subject][trial.verdict is Verdict.FAIL] += 1
        return True

    @property
    def in_flight(self) -> int:
        return sum(bits.bit_count() for bits in self._flying.values())

    @property
    def complete(self) -> bool:
        return self.asked >= self.images * len(self._order)

    @property
    def counts(self) -> dict[Node, TriedCounts]:
        return {self._node[subject]: TriedCounts(*self._counts[subject]) for subject in self._order}


def draw_panel(lattice: Lattice, entities: Sequence[int], images: int, seed: int) -> Draws:
    """A panel of about `images` images: nodes uniform in each layer, more of them in larger layers.

    With shards, a node belongs to the shard of its entity, so that the panels of all shards make one panel.
    """
    panel, mine = Draws("p", PANEL_IMAGES), frozenset(entities)
    sizes = np.array([lattice.layer_size(layer) for layer in range(lattice.depth + 1)], dtype=np.float64)
    weights = np.sqrt(sizes) / max(np.sqrt(sizes).sum(), 1.0)
    wanted = images // PANEL_IMAGES * len(lattice.entities) / max(len(entities), 1)
    for layer, weight in enumerate(weights.tolist()):
        # One stream of chance per layer: a larger panel contains the smaller one.
        rng = np.random.default_rng([seed, 2001, layer])
        for node in lattice.sample(layer, round(weight * wanted), rng):
            if node.entity in mine:
                panel.add(lattice.subject(node), node)
    return panel
