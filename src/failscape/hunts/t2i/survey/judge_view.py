"""Counts of nodes, and what a judge with known errors lets through: the common input of a survey's parts.

It holds no search state. A panel is counts of nodes drawn at random, per layer, before the search began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.spaces.lattice import Lattice, Node
from failscape.stats.judging.accuracy import JudgeAccuracy

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
        doubt = (1 - accuracy.level) / (4 * max(1, len(accuracy.kinds)))
        now, low, high = (
            accuracy.chances(kinds),
            accuracy.lowest(kinds, doubt),
            accuracy.highest(kinds, doubt),
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
