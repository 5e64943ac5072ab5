"""What a classifier hunt works on: classes, competing descriptions and their blocks of fresh images. Pure.

It also knows how descriptions relate: which are shorter, which differ in one clause. It decides no tests.

Keeps the evidence of all descriptions up to date, and says which of them are proven. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.classifier.candidates import CorpusCandidates
from failscape.hunts.classifier.clause_mining import Words
from failscape.hunts.classifier.prompts import Clause, Description, Template, describe
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.hunts.classifier.tallies import Arm, Block, ClassState, Target
from failscape.spaces.corpus import Corpus
from failscape.stats.excess import absent_share, log_excess, log_excess_grid
from failscape.stats.fdr import log_e_bh

KEEPS = 0.5
"""A shorter description keeps a bug when it has at least this share of its effect."""


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
        self.candidates = CorpusCandidates(corpus, rules.seed, rules.families)
        self.classes = [ClassState(target.name, rules.baseline) for target in targets]
        self.arms: dict[str, Arm] = {}
        self.blocks: dict[str, Block] = {}
        self.claimed: list[Arm] = []
        self.covered: set[str] = set()
        self._chosen: dict[str, list[Clause]] = {}
        for at, target in enumerate(targets):
            for clause in self.candidates.clauses(target, rules.candidates - rules.proposed):
                self.enter(describe(at, [clause]), "corpus")

    @property
    def most_tried(self) -> int:
        """How many descriptions may ever be tried, fixed in advance: what e-BH counts over."""
        return self.rules.candidates * len(self.targets)

    def subject(self, description: Description) -> str:
        parts = [self.targets[description.label].name, *(clause.label for clause in description.clauses)]
        return "; ".join(parts)

    def prompt(self, description: Description) -> str:
        target = self.targets[description.label]
        return self.template.prompt(target.name, target.superclass, description.clauses)

    def enter(self, description: Description, source: str) -> Arm | None:
        """A new competitor; the one there is when it is known; none when the class has its number."""
        subject = self.subject(description)
        state = self.classes[description.label]
        if subject not in self.arms:
            if not description.clauses or state.opened >= self.rules.candidates:
                return None
            if not self.candidates.compatible(self.targets[description.label], description.clauses):
                return None
            state.opened += 1
            self.arms[subject] = Arm(description, subject, source)
        return self.arms[subject]

    def block(self, description: Description, goal: int) -> Block:
        """The fresh images of a description, at least `goal` of them."""
        subject = self.subject(description)
        block = self.blocks.setdefault(subject, Block(description, subject))
        block.goal = max(block.goal, goal)
        return block

    def minimise(self, arm: Arm) -> None:
        """Enter the shorter descriptions of a proven one into the race."""
        if arm.shorter is not None:
            return
        description, found = arm.description, []
        for place, clause in enumerate(description.clauses):
            rest = [*([None] if len(description.clauses) > 1 else []), *self.words.shorter(clause)]
            found += [self.enter(description.without(place, other), "minimise") for other in rest]
        arm.shorter = tuple(other.subject for other in found if other is not None and other is not arm)
        for subject in arm.shorter:
            self.arms[subject].urgent = True

    def confirm(self, racing: Collection[str]) -> None:
        """Order fresh images for proven descriptions that cannot be shortened."""
        proven = {arm.subject for arm in self.claimed}
        self.covered = {arm.subject for arm in self.claimed if self._is_covered(arm, proven)}
        for arm in self.claimed:
            waiting = any(subject in racing for subject in arm.shorter or ())
            if arm.subject in self.covered or waiting:
                continue
            self.block(arm.description, self.rules.confirm)
            for place in range(len(arm.clauses)):
                for other in self.toggles(arm.description, place):
                    self.block(other, self._pairs(other))

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
        return self._chosen[key]

    def _seen_rate(self, description: Description) -> float:
        arm = self.arms.get(self.subject(description))
        return (arm.counts.fails + 0.5) / (arm.counts.valid + 1) if arm else 0.5

    def base_rate(self, description: Description) -> float:
        return self.classes[description.label].base.rate

    def bugs(self) -> list[Arm]:
        """Proven descriptions that no shorter one explains."""
        return [arm for arm in self.claimed if arm.subject not in self.covered]


class Scales:
    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._grids: dict[int, tuple[tuple[int, int], Any]] = {}

    def weigh(self, touched: set[str]) -> None:
        """Bring evidence up to date. A moved baseline touches all descriptions of its class."""
        rules, stale = self._arena.rules, set(touched)
        moved = set()
        for at, state in enumerate(self._arena.classes):
            counts = (state.base.fails, state.base.passes)
            if self._grids.get(at, (None,))[0] != counts:
                self._grids[at] = (counts, log_excess_grid(*counts)[0])
                moved.add(at)
        stale |= {
            name for name, arm in self._arena.arms.items() if arm.issued and arm.description.label in moved
        }
        arms = [self._arena.arms[name] for name in sorted(stale) if self._arena.arms[name].counts.tries]
        if arms:
            base = np.stack([self._grids[arm.description.label][1] for arm in arms])
            fails, passes = [[getattr(arm.counts, side) for arm in arms] for side in ("fails", "passes")]
            seen = [arm.counts.valid + arm.counts.absent for arm in arms]
            absent = (
                absent_share(np.add(fails, passes), seen, rules.sensitivity, rules.slip)
                if rules.slip
                else 0.0
            )
            found = log_excess(base, fails, passes, rules.margin, absent)
            for arm, value in zip(arms, found, strict=True):
                arm.log_e = float(value)
        opened = [arm for arm in self._arena.arms.values() if arm.counts.tries]
        sure = log_e_bh([arm.log_e for arm in opened], rules.fdr, self._arena.most_tried)
        self._arena.claimed = [arm for arm, yes in zip(opened, sure, strict=True) if yes]

    def need(self) -> float:
        """log of the evidence at which a description may stop: a little more than e-BH asks for now."""
        rules, arms = self._arena.rules, self._arena.arms.values()
        strong = sum(arm.log_e >= -np.log(rules.fdr) for arm in arms)
        return float(np.log(max(1.5, 1.25 * self._arena.most_tried / max(1, strong)) / rules.fdr))
