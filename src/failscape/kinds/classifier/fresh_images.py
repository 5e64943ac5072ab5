"""Fresh images of proven descriptions: their rates, and what each clause does, seed by seed. Pure.

What a search has chosen looks worse than it is. So every claim is measured on images that no choice has
touched, and compared with the same seeds without each clause, and with another value in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy

from failscape.kinds.classifier.candidates import CorpusCandidates
from failscape.kinds.classifier.prompts import Clause, Description
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import Block, Target

#: Toggles of a clause with fewer images say nothing about its effect.
FEWEST_TOGGLES = 12


class FreshImages:
    """Blocks of fresh images by subject. All descriptions of a class share seeds, so blocks can be paired."""

    def __init__(
        self,
        targets: Sequence[Target],
        candidates: CorpusCandidates,
        rules: ClassifierRules,
        subject: Callable[[Description], str],
    ) -> None:
        self.blocks: dict[str, Block] = {}
        self._targets = targets
        self._candidates = candidates
        self._rules = rules
        self._subject = subject
        self._chosen: dict[str, list[Clause]] = {}
        self._along: set[tuple[str, str]] = set()
        #: What comes along with a clause unasked: tried in its place, to tell the two apart.
        self.companions: Callable[[str], list[Clause]] = _none_known
        #: How often a value failed so far: the safest one takes the place of a clause.
        self.seen_rate: Callable[[Description], float] = _nothing_seen

    def snapshot(self) -> FreshImages:
        """A copy with blocks of its own."""
        other = copy(self)
        other.blocks = deepcopy(self.blocks)
        return other

    def block(self, description: Description, goal: int, order: int) -> Block:
        """The fresh images of a description, at least `goal` of them."""
        subject = self._subject(description)
        block = self.blocks.setdefault(subject, Block(description, subject, order=order))
        block.goal = max(block.goal, goal)
        block.order = min(block.order, order)
        return block

    def waiting(self) -> Iterator[Block]:
        """Blocks with images still to be drawn, the most important first."""
        for block in sorted(self.blocks.values(), key=lambda one: one.order):
            if block.issued < block.goal:
                yield block

    def order_toggles(self, description: Description, room: int) -> int:
        """Order what tells which clause is the cause, as far as `room` allows. Returns the images ordered."""
        ordered = 0
        for place in range(len(description.clauses)):
            for number, other in enumerate(self.toggles(description, place)):
                ordered += self._order_toggle(other, 1 + (number > 0), room - ordered)
        return ordered

    def _order_toggle(self, other: Description, order: int, room: int) -> int:
        known = self.blocks.get(self._subject(other))
        have = known.goal if known else 0
        wanted = min(self._pairs(other), have + room)
        if wanted <= have or wanted < FEWEST_TOGGLES:
            return 0
        self.block(other, wanted, order)
        return wanted - have

    def _pairs(self, other: Description) -> int:
        """All findings of a class share its plain images, so these may pair with every fresh image."""
        toggles = self._rules.toggles
        return max(toggles, self._rules.confirm) if toggles and not other.clauses else toggles

    def toggles(self, description: Description, place: int, look: bool = False) -> list[Description]:
        """The description without one clause, and with others of its kind instead.

        `look` chooses no alternatives that were not chosen before: looking must change nothing.
        """
        key = f"{self._subject(description)}|{place}"
        instead = self._chosen.get(key, []) if look else self._alternatives(key, description, place)
        return [description.without(place), *(description.without(place, clause) for clause in instead)]

    def _alternatives(self, key: str, description: Description, place: int) -> list[Clause]:
        """Fixed when first asked for: the safest values of the kind, by all that was seen until then."""
        if key not in self._chosen:
            target = self._targets[description.label]
            options = self._candidates.alternatives(target, description.clauses[place])
            rest = [clause for at, clause in enumerate(description.clauses) if at != place]
            fitting = [one for one in options if self._candidates.compatible(target, [*rest, one])]
            ranked = sorted(fitting, key=lambda one: self.seen_rate(Description(description.label, (one,))))
            self._chosen[key] = ranked[: self._rules.alternatives]
        self._add_companion(key, description, place)
        return self._chosen[key]

    def _add_companion(self, key: str, description: Description, place: int) -> None:
        """The attribute that most often comes along, once captions have shown one."""
        if any(known == key for known, _ in self._along):
            return
        target = self._targets[description.label]
        rest = [one for at, one in enumerate(description.clauses) if at != place]
        for other in self.companions(description.clauses[place].label):
            if other not in rest and self._candidates.compatible(target, [*rest, other]):
                self._along.add((key, other.label))
                if other not in self._chosen[key]:
                    self._chosen[key].append(other)
                return

    def comes_along(self, description: Description, place: int, label: str) -> bool:
        """Whether an alternative was chosen because it comes along with the clause."""
        return (f"{self._subject(description)}|{place}", label) in self._along

    def take_as_asked(self) -> None:
        for block in self.blocks.values():
            block.take_as_asked()


def _none_known(label: str) -> list[Clause]:
    """Without captions nobody knows what comes along."""
    return []


def _nothing_seen(description: Description) -> float:
    """Before the first trial all values are alike."""
    return 0.5
