"""Worlds of contexts and facts, drawn at random from a wide family. What fails in them is known. Pure.

A world plays generator, judge, captioner and model at once: it is asked for a context with some facts and
says which facts the trial shows, what a judge and a captioner say, and whether the model failed.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations

Facts = tuple[str, ...]


class JudgeHabit(StrEnum):
    """How a judge answers whether a fact is visible."""

    PERFECT = "perfect"
    NOISY = "noisy"
    UNEVEN = "uneven by word"
    ALWAYS_YES = "always yes"
    SILENT = "silent"


class CaptionHabit(StrEnum):
    """What a captioner says of facts that nobody asked for."""

    SILENT = "none"
    TELLS_ALL = "tells all"
    OMITS = "omits"
    INVENTS = "invents"


@dataclass(frozen=True, slots=True)
class WorldTraits:
    """How a world is made. The exam's tables are grouped by these."""

    contexts: int = 6
    facts: int = 40
    kinds: int = 8
    bugs: int = 4
    largest_bug: int = 2
    least_excess: float = 0.3
    most_excess: float = 0.9
    usual_rate: float = 0.03
    obeys: float = 1.0
    unasked: float = 0.05
    correlated: int = 0
    invalid: float = 0.02
    unlisted: float = 0.0
    general: int = 0
    judge: JudgeHabit = JudgeHabit.ALWAYS_YES
    captioner: CaptionHabit = CaptionHabit.TELLS_ALL
    complete: bool = False
    budget: int = 6_000

    def names(self) -> list[str]:
        return [one.name for one in fields(self)]


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """Trials of `context` that show all of `facts` fail at `rate`."""

    context: str
    facts: Facts
    rate: float


@dataclass(frozen=True, slots=True)
class WorldTrial:
    """One trial. `seen` is what the judge says of facts it was asked about, `caption` what a caption says."""

    failed: bool | None
    shown: frozenset[str]
    seen: dict[str, bool | None] = field(default_factory=dict)
    caption: tuple[str, ...] = ()


def draw_traits(seed: int) -> WorldTraits:
    """Traits by chance: few and many contexts and facts, small and large bugs, good and useless helpers."""
    luck = random.Random(f"exam traits {seed}")
    complete = luck.random() < 0.2
    contexts = 1 if complete else luck.choice([1, 2, 4, 8, 12, 20, 40])
    kinds = luck.randint(4, 14)
    least = luck.choice([0.15, 0.3, 0.5])
    traits = WorldTraits(
        contexts=contexts,
        facts=luck.randint(3 * kinds, 10 * kinds),
        kinds=kinds,
        bugs=luck.choice([0, 2, 4, 6, 10]),
        largest_bug=luck.choice([1, 2, 2, 3]),
        least_excess=least,
        most_excess=luck.uniform(least, 0.9),
        usual_rate=luck.choice([0.0, 0.02, 0.05, 0.15, 0.3]),
        obeys=luck.choice([1.0, 1.0, 0.85, 0.7, 0.5]),
        unasked=luck.choice([0.0, 0.05, 0.15]),
        correlated=luck.choice([0, 0, 3]),
        invalid=luck.choice([0.0, 0.03, 0.2]),
        unlisted=luck.choice([0.0, 0.0, 0.3]),
        general=luck.choice([0, 0, 1]) if contexts >= 4 else 0,
        judge=luck.choice(list(JudgeHabit)),
        captioner=luck.choice(list(CaptionHabit)),
        complete=complete,
    )
    if complete:
        return _as_questions(traits, luck)
    budget = luck.choice([60, 200, 500]) * contexts + luck.choice([1_000, 4_000, 8_000])
    return replace(traits, budget=min(budget, 16_000))


def _as_questions(traits: WorldTraits, luck: random.Random) -> WorldTraits:
    """A grammar's questions: every fact is known, budgets are small, failures count from 0.

    Few kinds with many facts each keep the failure rate of all questions together below the margin: else
    every fact would fail more often than the margin, and there would be nothing to tell apart.
    """
    return replace(
        traits,
        facts=luck.randint(40, 90),
        kinds=luck.randint(3, 5),
        bugs=min(traits.bugs, 6),
        usual_rate=luck.choice([0.0, 0.02, 0.05]),
        least_excess=0.5,
        most_excess=0.95,
        largest_bug=min(2, traits.largest_bug),
        obeys=1.0,
        unasked=0.0,
        correlated=0,
        unlisted=0.0,
        judge=JudgeHabit.SILENT,
        captioner=CaptionHabit.SILENT,
        budget=luck.choice([200, 400, 1_000, 2_000]),
    )


class PatternWorld:
    """A world with planted bugs; everything follows from its traits and seed."""

    def __init__(self, traits: WorldTraits, seed: int) -> None:
        self.traits = traits
        self.seed = seed
        self._luck = random.Random(f"exam world {seed}")
        self.contexts = [f"context {number}" for number in range(traits.contexts)]
        self.kinds = self._make_kinds()
        self.listed = self._list_facts()
        self.usual = {name: self._usual_rate() for name in self.contexts}
        self.brings = self._correlate()
        self.bugs = self._plant()
        self._eye = {fact: self._luck.uniform(0.5, 1.0) for fact in self.kinds}
        self._bugs_of = {
            name: [(frozenset(bug.facts), bug.rate) for bug in self.bugs if bug.context == name]
            for name in self.contexts
        }

    @property
    def margin(self) -> float:
        """What an excess has to be above: a fixed rate for questions, an excess over plain trials else."""
        return 0.2 if self.traits.complete else 0.05

    def _make_kinds(self) -> dict[str, str]:
        traits = self.traits
        owners = [number % traits.kinds for number in range(2 * traits.kinds)]
        owners += [self._luck.randrange(traits.kinds) for _ in range(traits.facts - len(owners))]
        sizes: dict[int, int] = {}
        kinds: dict[str, str] = {}
        for owner in owners[: traits.facts]:
            sizes[owner] = sizes.get(owner, 0) + 1
            kinds[f"k{owner}v{sizes[owner]}"] = f"k{owner}"
        return kinds

    def _list_facts(self) -> dict[str, str]:
        """Facts that a search is told of; others are learned from captions."""
        hidden = int(self.traits.unlisted * len(self.kinds))
        if self.traits.captioner is CaptionHabit.SILENT or not self.traits.unasked:
            # Nobody could learn of a fact that is neither listed, nor ever drawn unasked, nor described.
            hidden = 0
        unlisted = set(self._luck.sample(sorted(self.kinds), hidden))
        return {fact: kind for fact, kind in self.kinds.items() if fact not in unlisted}

    def _usual_rate(self) -> float:
        mean = self.traits.usual_rate
        return min(0.5, mean * self._luck.uniform(0.5, 1.5))

    def _correlate(self) -> dict[str, tuple[str, float]]:
        """Fact → a fact of another kind that comes along unasked, and how often."""
        facts = sorted(self.kinds)
        found: dict[str, tuple[str, float]] = {}
        for first in self._luck.sample(facts, min(self.traits.correlated, len(facts))):
            others = [other for other in facts if self.kinds[other] != self.kinds[first]]
            found[first] = (self._luck.choice(others), self._luck.uniform(0.3, 0.8))
        return found

    def _plant(self) -> list[PlantedBug]:
        bugs: list[PlantedBug] = []
        traits = self.traits
        for _ in range(traits.general):
            facts = self._draw_facts(1)
            for name in self.contexts:
                if self._luck.random() < 0.7:
                    bugs.append(self._bug(name, facts))
        homes = self._luck.sample(self.contexts, max(1, len(self.contexts) // self._luck.choice([1, 2, 8])))
        for _ in range(traits.bugs):
            for _ in range(50):
                name = self._luck.choice(homes)
                facts = self._draw_facts(self._luck.randint(1, traits.largest_bug))
                others = [set(bug.facts) for bug in bugs if bug.context == name]
                if not any(other <= set(facts) or other >= set(facts) for other in others):
                    bugs.append(self._bug(name, facts))
                    break
        return bugs

    def _bug(self, name: str, facts: Facts) -> PlantedBug:
        excess = self._luck.uniform(self.traits.least_excess, self.traits.most_excess)
        return PlantedBug(name, facts, min(0.97, self.usual[name] + excess))

    def _draw_facts(self, size: int) -> Facts:
        kinds = self._luck.sample(sorted(set(self.kinds.values())), min(size, self.traits.kinds))
        by_kind = [[fact for fact, kind in self.kinds.items() if kind == one] for one in kinds]
        return tuple(sorted(self._luck.choice(facts) for facts in by_kind))

    @cached_property
    def facts_by_kind(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for fact, kind in self.kinds.items():
            found.setdefault(kind, []).append(fact)
        return found

    # Trials

    def draw(
        self, context: str, facts: Collection[str], number: int, asked_about: Sequence[str] = ()
    ) -> WorldTrial:
        """The trial with this number: the same number gives the same trial."""
        luck = random.Random(f"{self.seed}/{number}")
        if luck.random() < self.traits.invalid:
            return WorldTrial(None, frozenset())
        shown = self._shown(facts, luck)
        failed = luck.random() < self.rate_of(context, shown)
        seen = {fact: self._judged(fact, fact in shown, luck) for fact in asked_about}
        return WorldTrial(failed, shown, seen, self._caption(shown, luck))

    def rate_of(self, context: str, shown: frozenset[str]) -> float:
        """How often a trial with just these facts fails."""
        rates = [rate for facts, rate in self._bugs_of[context] if facts <= shown]
        return max([self.usual[context], *rates])

    def _shown(self, facts: Collection[str], luck: random.Random) -> frozenset[str]:
        shown = {fact for fact in facts if luck.random() < self.traits.obeys}
        for fact in sorted(shown):
            other, chance = self.brings.get(fact, ("", 0.0))
            if other and luck.random() < chance:
                shown.add(other)
        taken = {self.kinds[fact] for fact in shown}
        chance = 1.0 if self.traits.complete else self.traits.unasked
        for kind, members in self.facts_by_kind.items():
            if kind not in taken and luck.random() < chance:
                shown.add(luck.choice(members))
        return frozenset(shown)

    def _judged(self, fact: str, is_shown: bool, luck: random.Random) -> bool | None:
        habit = self.traits.judge
        if habit is JudgeHabit.SILENT:
            return None
        if habit is JudgeHabit.ALWAYS_YES:
            return True
        accuracy = {JudgeHabit.PERFECT: 1.0, JudgeHabit.NOISY: 0.9, JudgeHabit.UNEVEN: self._eye[fact]}[habit]
        return is_shown if luck.random() < accuracy else not is_shown

    def _caption(self, shown: frozenset[str], luck: random.Random) -> tuple[str, ...]:
        habit = self.traits.captioner
        if habit is CaptionHabit.SILENT:
            return ()
        said = [fact for fact in sorted(shown) if habit is not CaptionHabit.OMITS or luck.random() < 0.6]
        if habit is CaptionHabit.INVENTS and luck.random() < 0.3:
            said.append(luck.choice(sorted(self.kinds)))
        return tuple(said)

    # Truth

    def true_rate(self, context: str, facts: Facts, draws: int = 2_000, only_shown: bool = False) -> float:
        """How often trials fail that ask for these facts; with `only_shown`, those that show all of them."""
        luck = random.Random(f"truth {self.seed}/{context}/{facts}")
        total = used = 0.0
        for _ in range(draws):
            shown = self._shown(facts, luck)
            if only_shown and not shown.issuperset(facts):
                continue
            total += self.rate_of(context, shown)
            used += 1
        return total / used if used else 0.0

    def judged_rate(self, context: str, facts: Facts, draws: int = 2_000) -> tuple[float, float]:
        """Of trials that ask for these facts: how many the judge says show all of them, and how often those
        fail. An oracle that goes by the judge can use no others."""
        luck = random.Random(f"judged {self.seed}/{context}/{facts}")
        total = used = 0.0
        for _ in range(draws):
            shown = self._shown(facts, luck)
            if all(self._judged(fact, fact in shown, luck) is not False for fact in facts):
                total += self.rate_of(context, shown)
                used += 1
        return used / draws, total / used if used else 0.0

    def limit(self, context: str) -> float:
        """The rate that a claim has to exceed."""
        if self.traits.complete:
            return self.margin
        return self.true_rate(context, ()) + self.margin


def parts_of(facts: Facts) -> list[Facts]:
    """All proper parts of a pattern."""
    return [part for size in range(1, len(facts)) for part in combinations(facts, size)]
