"""From a node and the number of a try to the steps of its probe: polish where wanted, draw, judge. Pure.

Wording is a nuisance: with `vary`, try after try says the same in other words, so that a failure belongs to
the concept and not to one way of saying it.
"""

from failscape.spaces.lattice import Node
from failscape.spaces.wording import Wording
from failscape.trials import Decide, Generate, Reword, Step

#: Nodes whose steps are kept: those with tries under way, and some more.
REMEMBERED = 4096


class Prompting:
    """Steps for the tries of nodes. Try n of a node uses variant n modulo their number."""

    def __init__(self, wording: Wording, vary: bool = False, polish: bool = False) -> None:
        self.wording = wording
        self.vary = vary
        self.polish = polish
        self._known: dict[Node, tuple[tuple[Step, ...], ...]] = {}

    def steps(self, node: Node, number: int) -> tuple[Step, ...]:
        """The steps of the `number`-th try of a node."""
        plans = self._known.get(node)
        if plans is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            plans = self._known[node] = self._plans(node)
        return plans[number % len(plans)]

    def variant(self, node: Node, number: int) -> int:
        """Which variant of its caption the `number`-th try of a node uses."""
        return number % self.wording.variants(node) if self.vary else 0

    def _plans(self, node: Node) -> tuple[tuple[Step, ...], ...]:
        captions = self.wording.captions(node) if self.vary else (self.wording.caption(node),)
        decide = Decide(self.wording.checks(node))
        if self.polish:
            return tuple((Reword(caption), Generate(caption), decide) for caption in captions)
        return tuple((Generate(caption), decide) for caption in captions)
