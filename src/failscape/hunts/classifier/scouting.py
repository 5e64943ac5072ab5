"""First looks: pictures of several values of the corpus at once, to see what is worth a test. Pure.

A crowd is a class with a handful of values of different kinds. Most crowds pass, and clear all of their
values and pairs of values together; one that fails is drawn again, and what fails again is taken apart.
Nothing of this is evidence: a description that looks like a bug is tested on images of its own.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.hunts.belief.belief import Belief, CountsAtRefit, Taxonomy
from failscape.hunts.belief.nodes import Nodes
from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.prompts import Clause, Description, describe
from failscape.stats.rate_priors import RATES

Floats = NDArray[np.float64]

#: Bugs among untried values, before anything is known: speed only, as all numbers of this file.
PRIOR = 0.03

#: How many images that first guess is worth when blame for a failed crowd is shared out.
PRIOR_IMAGES = 1.5

#: Images that a failed crowd gets to show that it was no chance.
BLAME_STEPS = 6
AGAIN = 2

#: The belief is fitted again when so many times as many images are in.
REFIT = 1.08

#: A new pass over all pairs begins when this share was seen: the last ones are hard to fit in.
MOST_OF_PAIRS = 0.9

#: Crowds that show a value must fail less than this share of a rate for it to be no matter of that rate.
CLEARED = 0.3

#: Captions of one class that those of all classes are worth, for how often a value is there unasked.
POOLED = 10.0

#: Rates of bugs that two values cause, and how likely a crowd that failed again fails by a pair when no value
#: of it looks bad.
PAIR_RATES: Floats = np.array([0.3, 0.5, 0.7, 0.9])
IS_A_PAIR = 0.9

#: A value that looks bad gets at most so many times as many looks as others.
FAVOUR = 4.0


@dataclass(slots=True)
class Crowd:
    """`values` are numbers of clauses. `again`: images drawn from it anew, `failed_again` of them failed."""

    values: tuple[int, ...]
    seen: tuple[int, ...] = ()
    failed: bool = False
    valid: bool = False
    again: int = 0
    told_again: int = 0
    failed_again: int = 0
    apart: int = 0
    """How far it is taken apart: 0 not, 1 into its values, 2 into pairs."""

    @property
    def rate(self) -> float:
        """How often it fails when drawn again, a little less than seen: it was picked because it failed."""
        return (self.failed_again + 0.5) / (self.told_again + 1.5)


@dataclass(slots=True)
class SeenUnasked:
    """What captions say of plain pictures: values of each that failed, and how many of the others show one.

    A plain picture that shows something unasked is a crowd that nobody had to draw.
    """

    failed: list[tuple[int, ...]] = field(default_factory=list)
    passed: int = 0
    shown: Counter[int] = field(default_factory=Counter)

    def add(self, values: Sequence[int], failed: bool) -> None:
        if failed:
            self.failed.append(tuple(values))
        else:
            self.passed += 1
            self.shown.update(values)


@dataclass(slots=True)
class ClassLooks:
    """What first looks have shown of one class."""

    options: NDArray[np.intp]
    issued: NDArray[np.float64]
    crowds: list[Crowd] = field(default_factory=list)
    seen: Floats = field(default_factory=lambda: np.zeros(0))
    blame: Floats = field(default_factory=lambda: np.zeros(0))
    failed: Floats = field(default_factory=lambda: np.zeros(0))
    """By value: crowds that showed it and failed, whoever is to blame."""
    suspects: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    beside: Floats = field(default_factory=lambda: np.zeros(0))
    """A value for each time that it was in a failed crowd, and how likely the rest of the crowd fails."""
    stale: bool = False
    unasked: SeenUnasked = field(default_factory=lambda: SeenUnasked())
    met: dict[int, set[int]] = field(default_factory=dict)
    """Value → those that it was seen with in this pass over all pairs."""
    pairs: int = 0
    all_pairs: int = 1

    def log_likelihoods(self) -> Floats:
        """[value, rate of passes]: how likely its crowds are, others of which may be to blame as well."""
        passed = self.seen - self.failed
        logs = passed[:, None] * np.log(RATES)[None, :]
        np.add.at(logs, self.suspects, np.log1p(-(1 - self.beside[:, None]) * RATES[None, :]))
        return logs

    def meet(self, chosen: Sequence[int]) -> None:
        """Note who was seen with whom; a new pass begins when nearly all pairs were."""
        for first, second in combinations(chosen, 2):
            known = self.met.setdefault(first, set())
            self.pairs += second not in known
            known.add(second)
            self.met.setdefault(second, set()).add(first)
        if self.pairs >= self.all_pairs:
            self.met.clear()
            self.pairs = 0


class Scouts:
    """Composes crowds and learns from them, over all classes. `clauses` are those of the corpus."""

    def __init__(
        self,
        clauses: Sequence[Clause],
        conflicts: NDArray[np.bool_] | None,
        options: Sequence[Sequence[int]],
        groups: Sequence[str],
        together: int,
        seed: int,
    ) -> None:
        self.clauses = tuple(clauses)
        self.index = {clause.label: at for at, clause in enumerate(clauses)}
        self._conflicts = conflicts
        self._kinds = [clause.kind for clause in clauses]
        numbers = {kind: at for at, kind in enumerate(dict.fromkeys(self._kinds))}
        self._kind_numbers = np.array([numbers[kind] for kind in self._kinds], np.intp)
        self._together = together
        self._seed = seed
        size = len(clauses)
        self.classes = [ClassLooks(np.array(some, np.intp), np.zeros(size)) for some in options]
        for looks in self.classes:
            looks.seen, looks.blame, looks.failed = np.zeros(size), np.zeros(size), np.zeros(size)
            looks.all_pairs = max(1, int(MOST_OF_PAIRS * self._pairs_of(looks.options)))
        self._taxonomy = Taxonomy(list(groups), [f"{at}" for at in range(len(groups))], self._kinds)
        self.chance: Floats = np.full((len(options), size), PRIOR)
        """By class and value: how likely it is a bug, as far as crowds and other classes tell."""
        self._images = 0
        self._fitted = 0

    def description(self, label: int, values: Sequence[int]) -> Description:
        return describe(label, [self.clauses[at] for at in values])

    # Composing

    def compose(self, label: int, hot: Collection[frozenset[int]]) -> int | None:
        """The number of a new crowd of a class that shows no `hot` set whole; none where nothing is left.

        Least looked-at values come first, and beside them those that they were not seen with yet: so all
        pairs get their turn.
        """
        looks = self.classes[label]
        alone = {next(iter(one)) for one in hot if len(one) == 1}
        options = [int(at) for at in looks.options if at not in alone]
        if not options:
            return None
        luck = random.Random(f"{self._seed}/{label}/{len(looks.crowds)}")
        share = np.clip(self.chance[label] / PRIOR, 1 / FAVOUR, FAVOUR)
        noise = np.array([luck.random() for _ in options])
        turn = (looks.issued[options] + noise) / share[options]
        order = np.array(options, np.intp)[np.argsort(turn, kind="stable")]
        chosen: list[int] = []
        met = np.zeros(len(self.clauses), np.int32)
        taken = np.zeros(len(self.clauses), np.bool_)
        while len(chosen) < self._together:
            fitting = order[~taken[order]]
            if not len(fitting):
                break
            at = int(fitting[np.argmin(met[fitting])])
            chosen.append(at)
            taken |= self._excluded(at)
            taken[[next(iter(rest)) for one in hot if len(rest := one.difference(chosen)) == 1]] = True
            met[list(looks.met.get(at, ()))] += 1
        for at in chosen:
            looks.issued[at] += 1
        looks.meet(chosen)
        looks.crowds.append(Crowd(tuple(sorted(chosen))))
        return len(looks.crowds) - 1

    def _excluded(self, at: int) -> NDArray[np.bool_]:
        """Values that cannot stand beside one: those of its kind, itself among them, and conflicting ones."""
        same = np.asarray(self._kind_numbers == self._kind_numbers[at], np.bool_)
        return same if self._conflicts is None else np.asarray(same | self._conflicts[at], np.bool_)

    def _pairs_of(self, options: NDArray[np.intp]) -> int:
        """How many pairs of values of different kinds there are."""
        kinds: dict[str, int] = {}
        for at in options:
            kinds[self._kinds[at]] = kinds.get(self._kinds[at], 0) + 1
        return (len(options) ** 2 - sum(number**2 for number in kinds.values())) // 2

    def least_looked(self, label: int) -> float:
        """How often the least looked-at value of a class was in a crowd."""
        looks = self.classes[label]
        return float(looks.issued[looks.options].min()) if len(looks.options) else np.inf

    def shown_on_average(self, label: int) -> float:
        """Crowds that a value of a class was in, on average."""
        looks = self.classes[label]
        return float(looks.issued[looks.options].mean()) if len(looks.options) else np.inf

    # Learning

    def absorb(self, label: int, number: int, shown: Sequence[int], failed: bool) -> None:
        crowd, looks = self.classes[label].crowds[number], self.classes[label]
        crowd.seen, crowd.failed, crowd.valid = tuple(shown), failed, True
        looks.stale = True
        self._images += 1

    def absorb_again(self, label: int, number: int, failed: bool | None) -> None:
        """`None` for an image that cannot be used."""
        crowd = self.classes[label].crowds[number]
        crowd.told_again += 1
        crowd.failed_again += failed is True

    def absorb_unasked(self, label: int, values: Sequence[int], failed: bool) -> None:
        """Values that the caption of a plain picture mentions."""
        self.classes[label].unasked.add(values, failed)
        self.classes[label].stale = True

    def take_as_asked(self) -> None:
        """Nobody sees clauses after all: every crowd shows all of its values."""
        for looks in self.classes:
            looks.stale = True
            for crowd in looks.crowds:
                crowd.seen = crowd.values if crowd.valid else ()

    def to_repeat(self, label: int, hot: Collection[frozenset[int]]) -> list[int]:
        """Failed crowds that no known cause explains and that were not drawn again yet."""
        return [
            number
            for number, crowd in enumerate(self.classes[label].crowds)
            if crowd.failed and not crowd.again and not is_explained(crowd.seen, hot)
        ]

    def to_take_apart(self, label: int) -> list[Crowd]:
        """Crowds that failed again and are not all in parts yet."""
        crowds = self.classes[label].crowds
        return [one for one in crowds if one.failed_again and one.told_again >= AGAIN and one.apart < 2]

    def learn(self, base: Floats, solo: Floats, limit: Floats) -> None:
        """Share out blame and fit the belief.

        `base`: (fails, passes) of plain images by class; `solo`: (fails, valid) by class and value of images
        that show it alone; `limit`: by class, the rate above which it is a bug.
        """
        for label, looks in enumerate(self.classes):
            if looks.stale:
                self._share_out(looks, base[label], solo[label])
                looks.stale = False
        if self._images >= max(30.0, REFIT * self._fitted):
            self._fitted = self._images
            self._fit(solo, limit)

    def _share_out(self, looks: ClassLooks, base: Floats, solo: Floats) -> None:
        """Who is to blame for failed crowds, by EM: a value that fails elsewhere takes it from the others."""
        size = len(self.clauses)
        used = [(crowd.seen, crowd.failed) for crowd in looks.crowds if crowd.valid]
        used += [(values, True) for values in looks.unasked.failed]
        rows = np.repeat(np.arange(len(used)), [len(shown) for shown, _ in used])
        values = np.array([at for shown, _ in used for at in shown], np.intp)
        failed = np.array([failed for _, failed in used], bool)
        seen = np.bincount(values, minlength=size) + self._passed_unasked(looks.unasked, base)
        usual = max((base[0] + 0.5) / (base.sum() + 1), 0.005)
        blame: Floats = np.zeros(size)
        for _ in range(BLAME_STEPS):
            rate = (PRIOR_IMAGES * PRIOR + blame + solo[:, 0]) / (PRIOR_IMAGES + seen + solo[:, 1])
            total = np.bincount(rows, rate[values], minlength=len(used)) + usual
            part = rate[values] / total[rows]
            blame = np.bincount(values, part * failed[rows], minlength=size).astype(np.float64)
        looks.seen, looks.blame = seen, blame
        own = failed[rows]
        looks.suspects = values[own]
        looks.beside = np.clip(total[rows] - usual - rate[values], 0.0, 0.95)[own]
        looks.failed = np.bincount(values, failed[rows], minlength=size).astype(float)

    def _passed_unasked(self, unasked: SeenUnasked, base: Floats) -> Floats:
        """Plain pictures that show a value and pass, as many as go with the failed ones that were captioned.

        Few that pass are captioned: what the generator draws unasked is taken from all classes as well.
        """
        pooled: Counter[int] = Counter()
        for looks in self.classes:
            pooled.update(looks.unasked.shown)
        total = sum(looks.unasked.passed for looks in self.classes)
        found = np.zeros(len(self.clauses))
        if not unasked.failed or not total:
            return found
        passes = base[1] * min(1.0, len(unasked.failed) / max(1.0, base[0]))
        for at, hits in pooled.items():
            share = (unasked.shown[at] + POOLED * hits / total) / (unasked.passed + POOLED)
            found[at] = passes * share
        return found

    def pairs_of_crowd(self, label: int, crowd: Crowd) -> list[tuple[tuple[int, ...], float]]:
        """Pairs of a crowd that fails, with the chance that they are why: other crowds have cleared some."""
        passed = [set(one.seen) for one in self.classes[label].crowds if one.valid and not one.failed]
        weights = {}
        for pair in combinations(crowd.values, 2):
            passes = sum(pair[0] in seen and pair[1] in seen for seen in passed)
            weights[pair] = float(np.mean((1 - PAIR_RATES) ** passes))
        total = sum(weights.values())
        return [(pair, min(0.5, IS_A_PAIR * weight / total)) for pair, weight in weights.items()]

    def clears(self, label: int, value: int, rate: float, least: float) -> bool:
        """Crowds that show a value fail far less than at `rate`: it has no such rate by itself."""
        looks = self.classes[label]
        return bool(looks.seen[value] >= least and looks.failed[value] <= CLEARED * rate * looks.seen[value])

    def _fit(self, solo: Floats, limit: Floats) -> None:
        seen = np.stack([looks.seen for looks in self.classes])
        blame = np.stack([looks.blame for looks in self.classes])
        label, value = np.nonzero(seen + solo[:, :, 1])
        if not len(label):
            return
        crowd = (seen - blame, blame)
        fails, passes = crowd[1] + solo[:, :, 0], crowd[0] + solo[:, :, 1] - solo[:, :, 0]
        counts = CountsAtRefit(
            Nodes(label, value[:, None]),
            np.ones(len(label), np.int64),
            passes[label, value],  # type: ignore[arg-type]  # parts of an image, for blame is shared
            fails[label, value],  # type: ignore[arg-type]
            _nothing_seen(len(self.classes), len(self.clauses)),
        )
        belief = Belief(self._taxonomy, 1, counts, 0.5)
        priors = belief.priors[1][belief.slot_rows]
        logs = np.stack([looks.log_likelihoods() for looks in self.classes])[label, value]
        weights = priors * np.exp(logs - logs.max(axis=1, keepdims=True))
        bad = weights * (1 - limit[label, None] > RATES[None, :])
        self.chance[label, value] = np.clip(bad.sum(axis=1) / weights.sum(axis=1), 1e-4, 0.95)


def scouts_of(arena: Arena) -> Scouts:
    """Nothing seen yet of the classes of a hunt and the values that make sense for each."""
    candidates, targets, rules = arena.candidates, arena.targets, arena.rules
    options = [candidates.options(target) for target in targets]
    groups = [target.superclass for target in targets]
    return Scouts(candidates.clauses, candidates.conflicts, options, groups, rules.together, rules.seed)


def is_explained(values: Iterable[int], hot: Collection[frozenset[int]]) -> bool:
    """Whether they hold something that fails by itself."""
    shown = set(values)
    return any(one <= shown for one in hot)


def _nothing_seen(classes: int, values: int) -> tuple[Any, Any]:
    return np.zeros((classes, 2), np.int32), np.zeros((classes, values, 2), np.int32)
