"""Which descriptions are worth images now: tests, first looks, and what stays out of crowds. Pure.

It only chooses. A wrong choice costs images, never validity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.hunts.classifier.arena import KEEPS, Arena
from failscape.hunts.classifier.prompts import describe
from failscape.hunts.classifier.race import MORE_BASELINE, BugChances
from failscape.hunts.classifier.scouting import PRIOR, Scouts
from failscape.hunts.classifier.tallies import Arm, ImageCounts

#: Descriptions with a smaller chance of being a bug get no more images.
HOPELESS = 0.05

#: Images that every tested description gets before it can be given up.
FEWEST = 10

#: Images of a first look at one description: most are no bugs, and two show a strong one.
FIRST = 2

#: A description is tested when it is a bug with this chance: tests are counted, looks are not.
ADMITTED = 0.35

#: What is a bug by itself with this chance stays out of crowds: it would hide others. What has failed in
#: crowds and passed so often alone, without a fail, may need another value beside it.
HOT, PASSED_ALONE = 0.5, 4

#: Before a description of several clauses is tested, each part is looked at until it keeps the bug with less
#: than this chance: a part that fails by itself is the better name.
MISSED = 0.1

#: Crowds that a value is shown in, on average, before single values are looked at on a faint suspicion.
FAINT = 0.08
PASSES = 3

#: The chance that a part fails by itself, given that the whole seems to fail.
PART = 0.2

#: Images of a look at a part that something waits for.
MOST_PART_LOOKS = 12
PART_STEP = 6


class Prospects:
    """`tests` and `looks` are descriptions with how many images to draw of each, the best first.

    `hot` has, by class, sets of values that seem to fail by themselves. Tests of `costly`
    descriptions are expected to take more images than a bug has cost so far. `demand` is how many images it
    would take to prove all others that are bugs more likely than not.
    """

    def __init__(self, arena: Arena, scouts: Scouts) -> None:
        self._arena, self._scouts = arena, scouts
        self.tests: list[tuple[Arm, int]] = []
        self.looks: list[tuple[Arm, int]] = []
        #: Tests that took all images that one may take, and may still be bugs.
        self.capped: list[tuple[Arm, int]] = []
        self.hot: list[set[frozenset[int]]] = [set() for _ in arena.classes]
        self.costly: set[str] = set()
        self.demand = 0.0
        self._chance: dict[str, float] = {}

    def chance(self, subject: str) -> float:
        """How likely a description is a bug, as far as known."""
        return self._chance.get(subject, 0.0)

    @property
    def testing(self) -> list[Arm]:
        return [arm for arm, _ in self.tests]

    def rank(self, need: float) -> None:
        """Look at all descriptions anew. `need` is the evidence (log e) at which one is left alone."""
        arena = self._arena
        arms = [arm for arm in arena.arms.values() if not arena.classes[arm.description.label].skip]
        chances = BugChances(arms, arena.classes, arena.rules.margin, need)
        index = chances.index
        self._chance = dict(zip((arm.subject for arm in arms), chances.chance.tolist(), strict=True))
        self._shown = [self._scouts.shown_on_average(label) for label in range(len(arena.classes))]
        self.hot = [set() for _ in arena.classes]
        tests: list[tuple[float, Arm, int]] = []
        capped: list[tuple[float, Arm, int]] = []
        looks: dict[str, tuple[float, Arm, int]] = {}
        live: list[int] = []
        for at in self._worth_a_thought(arms, chances):
            arm = arms[at]
            chance, worth, images = (float(one[at]) for one in (chances.chance, index, chances.images))
            rate = float(chances.mean[at])
            self._heat(arm, chance, need)
            if self._is_settled(arm, rate, need):
                continue
            if arm.tested or arm.urgent or (chance >= ADMITTED and arm.looks.valid):
                size = int(np.clip(chance * images, 2, 16)) if arm.counts.drawn else FIRST
                if self._is_given_up(arm, chance):
                    capped += [(worth, arm, size)] if chance >= HOPELESS else []
                    continue
                waiting, is_free = self._parts_first(arm, rate, need)
                for part, number in waiting:
                    looks[part.subject] = max(looks.get(part.subject, (0.0, part, 0))[0], worth), part, number
                if is_free:
                    tests.append((worth * (8.0 if arm.urgent else 1.0), arm, size))
                    live.append(at)
            elif chance >= self._promising(arm) or _is_new(arm):
                looks.setdefault(arm.subject, (worth, arm, FIRST))
        self.tests, self.looks = _in_order(tests), _in_order(list(looks.values()))
        self.capped = _in_order(capped)
        self._weigh_costs(arms, np.array(live, np.intp), chances)

    def _weigh_costs(self, arms: list[Arm], tested: NDArray[np.intp], chances: BugChances) -> None:
        """Which of the tests are costly, and what the others still need."""
        usual = self._arena.drawn / max(1, len(self._arena.bugs()))
        chance = chances.chance[tested]
        is_costly = chances.at_best(tested) > usual * chance
        self.costly = {arms[at].subject for at in tested[is_costly]}
        self.demand = float(chances.images[tested[~is_costly & (chance > HOT)]].sum())
        self._extend_baselines(arms, tested[~is_costly], chances)

    def _extend_baselines(self, arms: list[Arm], live: NDArray[np.intp], chances: BugChances) -> None:
        """A class gets more baseline images where they save more than they cost, over all its tests."""
        rules, classes = self._arena.rules, self._arena.classes
        most = rules.baseline_goal(len(classes))
        owner = np.array([arms[at].description.label for at in live], np.intp)
        for more in MORE_BASELINE:
            saved = np.bincount(owner, chances.saved(live, more, rules.most_in_test), len(classes))
            for at, state in enumerate(classes):
                if saved[at] > more and state.base.valid + more > state.goal:
                    state.goal = max(state.goal, min(most, state.base.valid + more))

    def _worth_a_thought(self, arms: list[Arm], chances: BugChances) -> list[int]:
        """Most arms were looked at once and are no bugs: they are passed over quickly."""
        chosen = chances.chance >= HOPELESS
        return [at for at, arm in enumerate(arms) if chosen[at] or arm.tested or arm.urgent or _is_new(arm)]

    def _promising(self, arm: Arm) -> float:
        """The chance above which a look pays: more than a crowd's, until crowds have shown all values."""
        if arm.source != "corpus":
            return HOPELESS
        early = self._shown[arm.description.label] < PASSES
        return PRIOR * max(1, self._arena.rules.together) if early else FAINT

    def _heat(self, arm: Arm, chance: float, need: float) -> None:
        index = self._scouts.index
        fails, valid = arm.looks.fails + arm.counts.fails, arm.looks.valid + arm.counts.valid
        if arm.log_e >= need or (chance > HOT and (fails or valid < PASSED_ALONE)):
            known = [index[one.label] for one in arm.clauses if one.label in index]
            if known and len(known) == len(arm.clauses):
                self.hot[arm.description.label].add(frozenset(known))

    def _is_settled(self, arm: Arm, rate: float, need: float) -> bool:
        return (
            arm.log_e >= need
            or self.is_undrawable(arm.counts)
            or self.is_undrawable(arm.looks)
            or self._is_explained(arm, rate, need)
        )

    def _is_given_up(self, arm: Arm, chance: float) -> bool:
        used_up = arm.counts.drawn >= self._arena.rules.most_in_test
        return used_up or (chance < HOPELESS and arm.counts.valid >= FEWEST)

    def is_undrawable(self, counts: ImageCounts) -> bool:
        """Hardly any image of it can be used."""
        rules = self._arena.rules
        enough = min(20, 2 * rules.baseline)
        return counts.drawn >= enough and counts.valid < rules.least_presence * counts.drawn

    def _is_explained(self, arm: Arm, rate: float, need: float) -> bool:
        """A part of it that keeps the bug is proven by itself: what the rest adds is not worth a test."""
        if len(arm.clauses) < 2:
            return False
        parts = [arm.description.without(place) for place in range(len(arm.clauses))]
        parts += [describe(arm.description.label, [clause]) for clause in arm.clauses]
        known = [self._arena.arms.get(self._arena.subject(part)) for part in parts]
        limit = self._kept(arm, rate)
        return any(one is not None and one.log_e >= need and one.counts.rate >= limit for one in known)

    def _kept(self, arm: Arm, rate: float) -> float:
        """The rate from which a part of a description that fails at `rate` keeps the bug."""
        base = self._arena.base_rate(arm.description)
        return base + KEEPS * max(0.0, rate - base)

    def _parts_first(self, arm: Arm, rate: float, need: float) -> tuple[list[tuple[Arm, int]], bool]:
        """Parts to look at before a description that fails at about `rate` is tested, and whether it may be.

        A part that may keep the bug is the better name: it is looked at until that is clear, or tested at
        once where a few looks do not tell, and the whole waits.
        """
        waiting: list[tuple[Arm, int]] = []
        is_free, limit = True, self._kept(arm, rate)
        none_of = int(np.ceil(np.log(MISSED) / np.log1p(-min(limit, 0.99))))
        for place in range(len(arm.clauses)) if len(arm.clauses) > 1 else ():
            part = self._arena.enter(arm.description.without(place), "part", PART)
            if part is None or self.is_undrawable(part.looks) or self._is_cleared(part, rate, none_of):
                continue
            fails, valid = part.counts.fails + part.looks.fails, part.counts.valid + part.looks.valid
            keeps = float(special.betaincc(1 + fails, 1 + valid - fails, limit))
            chance = self.chance(part.subject)
            if keeps >= MISSED and valid < MOST_PART_LOOKS:
                waiting.append((part, int(np.clip(none_of - valid, FIRST, PART_STEP))))
            elif keeps >= MISSED and part.log_e < need and not self._is_given_up(part, chance):
                part.urgent, is_free = True, False
        return waiting, is_free and not waiting

    def _is_cleared(self, part: Arm, rate: float, least: int) -> bool:
        value = self._scouts.index.get(part.clauses[0].label) if len(part.clauses) == 1 else None
        return value is not None and self._scouts.clears(part.description.label, value, rate, least)


def _is_new(arm: Arm) -> bool:
    """Somebody proposed it and nobody has looked; values of the corpus have their turn in crowds."""
    return not arm.looked and (arm.wanted or arm.source != "corpus")


def _in_order(ranked: list[tuple[float, Arm, int]]) -> list[tuple[Arm, int]]:
    return [(arm, size) for _, arm, size in sorted(ranked, key=lambda one: (-one[0], one[1].subject))]
