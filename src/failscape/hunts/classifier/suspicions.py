"""What first looks suggest: values that look bad, and parts of crowds that fail again. Pure.

It enters descriptions into the race. Nothing here is evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.prompts import Clause
from failscape.hunts.classifier.prospects import FIRST, HOPELESS, Prospects
from failscape.hunts.classifier.scouting import PRIOR, Scouts, is_explained
from failscape.hunts.classifier.tallies import Arm

#: The chance of a bug of a value, or of a pair of values, of a crowd that failed again.
IN_FAILED_CROWD = 0.15

#: Pairs of failed crowds are looked at while the first share of them are proven bugs, before costly tests and
#: before more crowds while the second are. Of the ten pairs of a crowd one is the cause where causes are
#: pairs, and none where they are single values that fail too seldom to show in a few looks.
LEAST_YIELD, GOOD_YIELD = 0.02, 0.05

#: How many pairs the first guess of that share, `IN_FAILED_CROWD`, is worth.
FIRST_PAIRS = 20

#: A value that was shown in fewer crowds is looked at by itself when a crowd with it fails again.
UNCLEARED = 6


class Suspicions:
    def __init__(self, arena: Arena, scouts: Scouts, prospects: Prospects) -> None:
        self._arena, self._scouts, self._prospects = arena, scouts, prospects
        self._singles: list[tuple[Arm, int, int]] = []
        self._sorted = 0
        self._pairs_found = IN_FAILED_CROWD
        self._entered: set[tuple[int, int]] = set()

    @property
    def pairs_pay_well(self) -> bool:
        """Pairs of failed crowds are bugs so often that looks at them come first."""
        return self._pairs_found > GOOD_YIELD

    def learn(self, unasked: Iterable[tuple[int, Sequence[Clause], bool]]) -> None:
        """`unasked` are captions of plain pictures: class, what they say, and whether the picture failed."""
        arena, scouts = self._arena, self._scouts
        if not scouts.clauses:
            return
        solo = np.zeros((len(arena.classes), len(scouts.clauses), 2))
        for arm, label, value in self._single_values():
            if arm.looked or arm.issued:
                both = (arm.counts.fails + arm.looks.fails, arm.counts.valid + arm.looks.valid)
                solo[label, value] = both
        base = np.array([(state.base.fails, state.base.passes) for state in arena.classes], np.float64)
        usual = (base[:, 0] + 0.5) / (base.sum(axis=1) + 1)
        for label, clauses, failed in unasked:
            known = [scouts.index[one.label] for one in clauses if one.label in scouts.index]
            scouts.absorb_unasked(label, known, failed)
        scouts.learn(base, solo, usual + arena.rules.margin)
        self._pairs_found = self._pair_yield()
        for label, looks in enumerate(scouts.classes):
            for at in looks.options[scouts.chance[label, looks.options] > 1.5 * PRIOR].tolist():
                if (label, at) not in self._entered:
                    self._entered.add((label, at))
                    arena.enter(self._scouts.description(label, (at,)), "corpus")
            self._take_apart(label)
        for arm, label, value in self._single_values():
            if arm.source == "corpus" or scouts.classes[label].seen[value] >= UNCLEARED:
                arm.prior = float(scouts.chance[label, value])

    def _single_values(self) -> list[tuple[Arm, int, int]]:
        """Arms of one value of the corpus, with their class and the value's number."""
        for arm in islice(self._arena.arms.values(), self._sorted, None):
            if len(arm.clauses) == 1 and arm.clauses[0].label in self._scouts.index:
                value = self._scouts.index[arm.clauses[0].label]
                self._singles.append((arm, arm.description.label, value))
        self._sorted = len(self._arena.arms)
        return self._singles

    def _pair_yield(self) -> float:
        """The share of pairs of failed crowds that are bugs, of those looked at, from a first guess on."""
        pairs = [
            arm
            for arm in self._arena.arms.values()
            if arm.source == "crowd" and len(arm.clauses) > 1 and arm.looks.drawn
        ]
        found = sum(arm.log_e >= 3.0 for arm in pairs)
        return (found + IN_FAILED_CROWD * FIRST_PAIRS) / (len(pairs) + FIRST_PAIRS)

    def _take_apart(self, label: int) -> None:
        """Into values that other crowds have not cleared, then into pairs."""
        for crowd in self._scouts.to_take_apart(label):
            suspect = [at for at in crowd.values if not self._scouts.clears(label, at, crowd.rate, UNCLEARED)]
            if crowd.apart == 0:
                crowd.apart = 1
                for at in suspect:
                    arm = self._arena.enter(self._scouts.description(label, (at,)), "crowd", IN_FAILED_CROWD)
                    if arm is not None:
                        arm.wanted = True
            alone = [
                self._arena.arms.get(self._arena.subject(self._scouts.description(label, (at,))))
                for at in suspect
            ]
            if all(arm is None or arm.looks.drawn >= FIRST or arm.tested for arm in alone):
                if is_explained(crowd.values, self._prospects.hot[label]):
                    continue  # its pairs wait as long as a part of it looks bad
                crowd.apart = 2
                pairs = self._scouts.pairs_of_crowd(label, crowd) if self._pairs_found > LEAST_YIELD else ()
                for part, chance in pairs:
                    if chance >= HOPELESS:
                        self._arena.enter(self._scouts.description(label, part), "crowd", chance)
