"""What a classifier hunt works on: classes, competing descriptions and their blocks of fresh images. Pure.

It also knows how descriptions relate: which are shorter, which differ in one clause. It decides no tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from failscape.errors import ConfigError
from failscape.hunts.classifier.candidates import CorpusCandidates
from failscape.hunts.classifier.clause_mining import Words
from failscape.hunts.classifier.prompts import Clause, Description, Template, describe
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.hunts.classifier.tallies import Arm, Block, ClassState, Target
from failscape.spaces.corpus import Corpus

#: A shorter description keeps a bug when it has at least this share of its effect.
KEEPS = 0.5


#: Fresh images of a finding when the budget is nearly used up.
LEAST_FRESH = 12


#: In the last tenth of the budget a proven description no longer waits for shorter ones to be tested.
LATE = 10


class Arena:
    """Everything known so far. `claimed` are the descriptions that are proven at the moment."""

    def __init__(
        self, targets: Sequence[Target], template: Template, corpus: Corpus | None, rules: ClassifierRules
    ) -> None:
        if not targets:
            raise ConfigError("a classifier hunt needs at least one class", "name some in `classes`")
        self.targets = tuple(targets)
        self.template = template
        self.rules = rules
        self.words = Words(corpus)
        self.candidates = CorpusCandidates(corpus, rules.families)
        self.classes = [ClassState(target.name, rules.baseline) for target in targets]
        self.arms: dict[str, Arm] = {}
        self.blocks: dict[str, Block] = {}
        self.claimed: list[Arm] = []
        self.covered: set[str] = set()
        self.looked_in_crowds = 0
        self.drawn = 0
        """Images planned so far."""
        self._chosen: dict[str, list[Clause]] = {}
        self.companions: Callable[[str], list[Clause]] = _none_known
        """What comes along with a clause unasked: tried in its place, to tell the two apart."""
        self._along: set[tuple[str, str]] = set()

    @property
    def most_tried(self) -> int:
        """How many descriptions may ever be tested, fixed in advance: what e-BH counts over."""
        return self.rules.candidates * len(self.targets)

    def subject(self, description: Description) -> str:
        parts = [self.targets[description.label].name, *(clause.label for clause in description.clauses)]
        return "; ".join(parts)

    def prompt(self, description: Description) -> str:
        target = self.targets[description.label]
        return self.template.prompt(target.name, target.superclass, description.clauses)

    def enter(self, description: Description, source: str, prior: float = 0.05) -> Arm | None:
        """A new competitor, or the one there is; none when its clauses contradict each other."""
        subject = self.subject(description)
        if subject not in self.arms:
            if not description.clauses:
                return None
            if not self.candidates.compatible(self.targets[description.label], description.clauses):
                return None
            self.arms[subject] = Arm(description, subject, source)
        arm = self.arms[subject]
        arm.prior = max(arm.prior, prior)
        return arm

    def test(self, arm: Arm) -> bool:
        """Whether an arm may be tested: it takes one of the tests of its class, as long as there are any."""
        state = self.classes[arm.description.label]
        if not arm.tested and state.opened < self.rules.candidates:
            arm.tested = True
            state.opened += 1
        return arm.tested

    def take_as_asked(self) -> None:
        """Nobody sees clauses after all: count every image that shows its class."""
        for arm in self.arms.values():
            arm.counts.take_as_asked()
            arm.looks.take_as_asked()
        for block in self.blocks.values():
            block.take_as_asked()

    @property
    def left(self) -> int | None:
        """Images that may still be planned; `None` without a budget."""
        return max(0, self.rules.images - self.drawn) if self.rules.images else None

    @property
    def owed(self) -> int:
        """Fresh images that proven descriptions still wait for."""
        return sum(max(0, block.goal - block.issued) for block in self.blocks.values())

    def block(self, description: Description, goal: int, order: int) -> Block:
        """The fresh images of a description, at least `goal` of them."""
        subject = self.subject(description)
        block = self.blocks.setdefault(subject, Block(description, subject, order=order))
        block.goal, block.order = max(block.goal, goal), min(block.order, order)
        return block

    def minimise(self, arm: Arm) -> None:
        """Enter the shorter descriptions of a proven one into the race."""
        if arm.shorter is not None:
            return
        description, found = arm.description, []
        for place, clause in enumerate(description.clauses):
            rest = [*([None] if len(description.clauses) > 1 else []), *self.words.shorter(clause)]
            found += [self.enter(description.without(place, other), "minimise", 0.2) for other in rest]
        arm.shorter = tuple(other.subject for other in found if other is not None and other is not arm)
        for subject in arm.shorter:
            self.arms[subject].urgent = True

    def confirm(self, racing: Collection[str]) -> None:
        """Order fresh images for proven descriptions that cannot be shortened."""
        proven = {arm.subject for arm in self.claimed}
        self.covered = {arm.subject for arm in self.claimed if self._is_covered(arm, proven)}
        late = self.left is not None and self.left - self.owed <= max(
            2 * self.rules.confirm, self.rules.images // LATE
        )
        for arm in self.claimed:
            waiting = not late and any(subject in racing for subject in arm.shorter or ())
            if arm.subject in self.covered or waiting:
                continue
            fresh = self.blocks.get(arm.subject)
            if fresh is None or not fresh.goal or fresh.order:
                self.block(arm.description, self._affordable(self.rules.confirm), 0)
            for place in range(len(arm.clauses)):
                for number, other in enumerate(self.toggles(arm.description, place)):
                    known = self.blocks.get(self.subject(other))
                    if known is None or known.goal < self._pairs(other):
                        self.block(other, self._affordable(self._pairs(other)), 1 + (number > 0))

    @property
    def unmeasured(self) -> int:
        """Images to keep for proven descriptions whose fresh ones are not ordered yet."""
        return LEAST_FRESH * sum(
            arm.subject not in self.blocks or not self.blocks[arm.subject].goal for arm in self.bugs()
        )

    def _affordable(self, images: int) -> int:
        """Fewer where the budget ends: every proven description is to have a rate of its own."""
        if self.left is None:
            return images
        return min(images, max(min(images, LEAST_FRESH), (self.left - self.owed) // 2))

    def _pairs(self, other: Description) -> int:
        """All findings of a class share its plain images, so these may pair with every fresh image."""
        toggles, confirm = self.rules.toggles, self.rules.confirm
        return max(toggles, confirm) if toggles and not other.clauses else toggles

    def _is_covered(self, arm: Arm, proven: set[str]) -> bool:
        effect = arm.counts.rate - self.classes[arm.description.label].base.rate
        shorter = [self.arms[subject] for subject in arm.shorter or () if subject in proven]
        return any(
            other.counts.rate - self.classes[other.description.label].base.rate >= KEEPS * effect
            for other in shorter
        )

    def toggles(self, description: Description, place: int, look: bool = False) -> list[Description]:
        """The description without one clause, and with others of its kind instead.

        `look` chooses no alternatives that were not chosen before: looking must change nothing.
        """
        key = f"{self.subject(description)}|{place}"
        instead = self._chosen.get(key, []) if look else self._alternatives(key, description, place)
        return [description.without(place), *(description.without(place, clause) for clause in instead)]

    def _alternatives(self, key: str, description: Description, place: int) -> list[Clause]:
        """Fixed when first asked for: the safest values of the kind, as far as the race has seen them."""
        if key not in self._chosen:
            target = self.targets[description.label]
            options = self.candidates.alternatives(target, description.clauses[place])
            rest = [clause for at, clause in enumerate(description.clauses) if at != place]
            fitting = [one for one in options if self.candidates.compatible(target, [*rest, one])]
            ranked = sorted(fitting, key=lambda one: self._seen_rate(describe(description.label, [one])))
            self._chosen[key] = ranked[: self.rules.alternatives]
        self._add_companion(key, description, place)
        return self._chosen[key]

    def _add_companion(self, key: str, description: Description, place: int) -> None:
        """The attribute that most often comes along, once captions have shown one."""
        if any(known == key for known, _ in self._along):
            return
        target, clause = self.targets[description.label], description.clauses[place]
        rest = [one for at, one in enumerate(description.clauses) if at != place]
        for other in self.companions(clause.label):
            if other not in rest and self.candidates.compatible(target, [*rest, other]):
                self._along.add((key, other.label))
                if other not in self._chosen[key]:
                    self._chosen[key].append(other)
                return

    def comes_along(self, description: Description, place: int, label: str) -> bool:
        """Whether an alternative was chosen because it comes along with the clause."""
        return (f"{self.subject(description)}|{place}", label) in self._along

    def _seen_rate(self, description: Description) -> float:
        arm = self.arms.get(self.subject(description))
        return (arm.counts.fails + 0.5) / (arm.counts.valid + 1) if arm else 0.5

    def base_rate(self, description: Description) -> float:
        return self.classes[description.label].base.rate

    def bugs(self) -> list[Arm]:
        """Proven descriptions that no shorter one explains."""
        return [arm for arm in self.claimed if arm.subject not in self.covered]


def _none_known(label: str) -> list[Clause]:
    """Without captions nobody knows what comes along."""
    return []
