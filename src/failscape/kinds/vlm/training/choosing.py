"""`strategy: learn`: a policy chooses the kind of every first look, the grammar fills its slots. Pure.

It works with any grammar and trains no network. What failed is put to the test and named as by every other
strategy. The policy learns from first looks alone: it did not choose what was asked to confirm a mode.
"""

import random
from collections.abc import Sequence
from itertools import combinations

from failscape.kinds.vlm.confirm import Confirmation
from failscape.kinds.vlm.items import Item
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import LOOKS, Planner, Rounds
from failscape.kinds.vlm.training.policy import PolicySettings, QuestionPolicy
from failscape.kinds.vlm.training.worth import GradedKind
from failscape.spaces.questions import ANY, Asked, Draft, Grammar, Pattern, make_pattern


class LearningPlanner(Planner):
    """First looks are chosen by a policy that learns from each round."""

    takes_proposals = False

    def __init__(
        self,
        grammar: Grammar,
        ledger: QuestionLog,
        confirmation: Confirmation,
        rounds: Rounds,
        seed: int,
        settings: PolicySettings | None = None,
    ) -> None:
        super().__init__(grammar, ledger, confirmation, rounds, seed)
        self._policy = QuestionPolicy(kinds_of(grammar), settings or PolicySettings())
        #: Key of an item → the logarithm of how likely its kind was when it was planned.
        self._log_chances: dict[str, float] = {}

    def _to_look_at(self) -> list[Pattern]:
        """What was proven is named exactly; where to look again is the policy's own choice."""
        return [p for p in self._inexact() for _ in range(max(0, LOOKS - self._looking[p]))]

    def _choose(self, rng: random.Random) -> tuple[Pattern, Asked | Draft] | None:
        """Where the grammar has no question of the chosen kind, that is learned, and another one is drawn."""
        kind, log_chance = self._policy.choose(rng)
        work = self._grammar.draft(kind, rng, False, "")
        if work is None:
            self._policy.note(GradedKind(kind.skills, valid=False, failed=False), kind, log_chance)
            return None
        return kind, work

    def _searching(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        kinds = kinds_of(self._grammar)  # an open list of skills grows
        if kinds != self._policy.kinds:
            self._policy.extend(kinds)
        items = super()._searching(number, rng, room, first)
        for item in items:
            self._log_chances[item.key] = self._policy.log_chance(item.wanted)
        return items

    def close(self, items: Sequence[Item]) -> None:
        """Learn from the first questions of this round; later turns of a talk were not chosen."""
        super().close(items)
        for item in items:
            log_chance = self._log_chances.pop(item.key, None)
            if log_chance is None:
                continue
            for outcome in item.results:
                if not outcome.pattern.second_turn:
                    graded = GradedKind(outcome.pattern.skills, outcome.valid, outcome.failed)
                    self._policy.note(graded, item.wanted, log_chance)
        self._policy.learn()


def kinds_of(grammar: Grammar) -> tuple[Pattern, ...]:
    """What a policy chooses from: the forms of a grammar; where it has none, single skills and pairs."""
    simplest = tuple(grammar.patterns())
    if any(kind.form != ANY for kind in simplest):
        return simplest
    skills = sorted({skill for kind in simplest for skill in kind.skills})
    return simplest + tuple(make_pattern(ANY, pair) for pair in combinations(skills, 2))
