"""True success rates for every node of a lattice, made from a seed, with structure like that of real models.

Entities, values, their classes and pairs of values each have effects on the log-odds. Shifts are solved so
that the shares of failing nodes, among nodes whose parents all pass, match a regime. How far rates spread
around the threshold is a second setting. The shape of the effects is a third: other shapes than the usual one
are what a search must not have been built for; each keeps the shares of the regime unless it says otherwise.
Rates are computed when asked for; nothing grows with the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.errors import ConfigError
from failscape.spaces.lattice import Lattice, Node

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The threshold at which a regime's failing shares hold.
CALIBRATED_AT = 0.8

_PAIR_SAMPLE = 20_000
_MARGIN = 1e-4


class Regime(NamedTuple):
    """Shares of nodes that fail although all their parents pass, by number of values."""

    entity: float
    one_value: float
    two_values: float


#: The first three are those of published models; the last two fail almost everywhere, and almost nowhere.
REGIMES = {
    "weak": Regime(0.21, 0.84, 0.44),
    "medium": Regime(0.08, 0.40, 0.25),
    "strong": Regime(0.02, 0.08, 0.10),
    "broken": Regime(0.60, 0.95, 0.80),
    "sound": Regime(0.002, 0.004, 0.005),
}


#: All effects on the log-odds are multiplied by this. A narrow world has more nodes near the threshold.
SPREADS = {"narrow": 0.7, "wide": 1.0}


class Landscape:
    """`rates` of nodes, and how likely each check is to be the one that drops."""

    #: Standard deviations of what the class, the sub-class and the entity itself add to its log-odds.
    of_entities = (0.5, 0.5, 1.5)
    #: The same for a value of an entity: the value, its kind, class and sub-class with it, entity with it.
    of_values = (1.1, 0.7, 0.9, 0.6, 0.8)

    def __init__(self, lattice: Lattice, regime: str = "medium", seed: int = 0, spread: str = "wide") -> None:
        if regime not in REGIMES:
            raise ConfigError(f"there is no regime {regime!r}", f"use one of: {', '.join(REGIMES)}")
        if spread not in SPREADS:
            raise ConfigError(f"there is no spread {spread!r}", f"use one of: {', '.join(SPREADS)}")
        self.lattice = lattice
        self._spread = SPREADS[spread]
        self._seed = seed
        rng = np.random.default_rng([seed, 7])
        self.wanted = self._shares(REGIMES[regime])
        self._entity = self._make_entities(rng)
        self._single = self._make_singles(rng)
        self._pair = self._spread * _symmetrical(self._value_pairs(rng, len(lattice.corpus.values)))
        self._pair_shift = 0.0
        self._pair_shift = self._solve_pair_shift(rng, self.wanted.two_values)

    def rates(self, nodes: Sequence[Node]) -> Floats:
        """True success rates of nodes that all have equally many values."""
        entities = np.array([node.entity for node in nodes], dtype=np.int64)
        values = np.array([node.values for node in nodes], dtype=np.int64).reshape(len(nodes), -1)
        return self._bent(_chance(self._log_odds(entities, values)))

    def rate(self, node: Node) -> float:
        return float(self.rates([node])[0])

    def drop_weights(self, node: Node) -> list[float]:
        """How the blame for a failed image is shared: by how weak entity and values are on their own."""
        alone = float(_chance(self._entity[node.entity]))
        weights = [1 - alone + 0.02]
        for value in node.values:
            together = float(_chance(self._single[node.entity, value]))
            weights.append(max(1 - together / max(alone, together), 0.0) + 0.02)
        total = sum(weights)
        return [weight / total for weight in weights]

    def moved(self, by: float, seed: int) -> Landscape:
        """The same model after some more training: every entity, and every value of one, is a little better
        or worse than before, by so much in log-odds (one standard deviation)."""
        other, rng = copy(self), np.random.default_rng([seed, 11])
        shift = rng.normal(0, by, self._entity.shape)
        other._entity = self._entity + shift
        other._single = self._single + shift[:, None] + rng.normal(0, by, self._single.shape)
        return other

    # What a shape may change

    def _shares(self, regime: Regime) -> Regime:
        return regime

    def _entity_effects(self, rng: np.random.Generator) -> Floats:
        corpus = self.lattice.corpus
        classes, subs = groups(corpus.entities, "upper_class"), groups(corpus.entities, "sub_class")
        by_class, by_sub, own = self.of_entities
        raw = (
            rng.normal(0, by_class, classes.max() + 1)[classes] + rng.normal(0, by_sub, subs.max() + 1)[subs]
        )
        return np.asarray(raw + rng.normal(0, own, len(corpus.entities)))

    def _value_effects(self, rng: np.random.Generator) -> Floats:
        """[entity, value]: what a value adds to the log-odds of an entity."""
        corpus = self.lattice.corpus
        classes, subs = groups(corpus.entities, "upper_class"), groups(corpus.entities, "sub_class")
        kinds, count = groups(corpus.values, "kind"), len(corpus.values)
        by_value, by_kind, by_class, by_sub, own = self.of_values
        effect = np.zeros(count)
        if by_value:
            effect = rng.normal(0, by_value, count) + rng.normal(0, by_kind, kinds.max() + 1)[kinds]
        effect = effect + rng.normal(0, by_class, (classes.max() + 1, count))[classes]
        effect = effect + rng.normal(0, by_sub, (subs.max() + 1, count))[subs]
        return np.asarray(effect + rng.normal(0, own, effect.shape))

    def _value_pairs(self, rng: np.random.Generator, count: int) -> Floats:
        """[value, value]: what two values add when they come together; the upper half counts."""
        return rng.normal(0.0, 1.0, (count, count))

    def _own_pairs(self, entities: Ints, first: Ints, second: Ints) -> Floats:
        """What two values of just this entity add."""
        return 0.9 * hashed_normal(self._seed, entities, first, second)

    def _bent(self, rates: Floats) -> Floats:
        """The rates as they are, from those that the effects make."""
        return rates

    # How effects become log-odds

    def _make_entities(self, rng: np.random.Generator) -> Floats:
        raw = self._spread * self._entity_effects(rng)
        return np.asarray(raw + _shift(raw[list(self.lattice.entities)], self.wanted.entity))

    def _make_singles(self, rng: np.random.Generator) -> Floats:
        """Log-odds of an entity with one value."""
        corpus = self.lattice.corpus
        if len(corpus.values) == 0:
            return np.zeros((len(corpus.entities), 0))
        raw = self._entity[:, None] + self._spread * self._value_effects(rng)
        reachable = self._allowed() & self._passes(self._entity)[:, None]
        return np.asarray(raw + _shift(raw[reachable], self.wanted.one_value))

    def _allowed(self) -> NDArray[np.bool_]:
        chosen = np.zeros(len(self.lattice.corpus.entities), dtype=np.bool_)
        chosen[list(self.lattice.entities)] = True
        return self.lattice.corpus.allowed & chosen[:, None]

    def _passes(self, log_odds: Floats) -> NDArray[np.bool_]:
        return np.asarray(_chance(log_odds) >= CALIBRATED_AT)

    def _solve_pair_shift(self, rng: np.random.Generator, share: float) -> float:
        passing = self._allowed() & self._passes(self._single) & self._passes(self._entity)[:, None]
        rows, columns = np.nonzero(passing)
        if len(rows) < 2:
            return 0.0
        starts, sizes = np.searchsorted(rows, rows), np.bincount(rows, minlength=len(passing))[rows]
        # A passing (entity, value) is drawn, then a second value of the same entity: uniform over pairs
        # once the draw is weighted by how many partners there are.
        weights = (sizes - 1) / max((sizes - 1).sum(), 1)
        if not weights.any():
            return 0.0
        first = rng.choice(len(rows), _PAIR_SAMPLE, p=weights)
        second = starts[first] + rng.integers(0, sizes[first])
        pairs = np.sort(np.stack([columns[first], columns[second]], axis=1), axis=1)
        later = np.array([self.lattice.later[a] >> b & 1 for a, b in pairs.tolist()], dtype=np.bool_)
        return _shift(self._log_odds(rows[first][later], pairs[later]), share)

    def _log_odds(self, entities: Ints, values: Ints) -> Floats:
        """Values combine as if independent given the entity, plus an effect of every pair."""
        if values.shape[1] == 0:
            return np.asarray(self._entity[entities])
        if values.shape[1] == 1:
            return np.asarray(self._single[entities, values[:, 0]])
        alone = _chance(self._entity[entities])
        ratios = _chance(self._single[entities[:, None], values]) / alone[:, None]
        log_odds = special.logit(np.clip(alone * ratios.prod(axis=1), _MARGIN, 1 - _MARGIN))
        for i in range(values.shape[1]):
            for j in range(i + 1, values.shape[1]):
                log_odds = log_odds + self._pair_effect(entities, values[:, i], values[:, j])
        return np.asarray(log_odds)

    def _pair_effect(self, entities: Ints, first: Ints, second: Ints) -> Floats:
        own = self._spread * self._own_pairs(entities, first, second)
        return np.asarray(self._pair_shift + self._pair[first, second] + own)


def _symmetrical(upper: Floats) -> Floats:
    return np.asarray(np.triu(upper, 1) + np.triu(upper, 1).T)


def _chance(log_odds: NDArray[np.float64] | float) -> Floats:
    return np.asarray(np.clip(special.expit(log_odds), _MARGIN, 1 - _MARGIN))


def _shift(log_odds: Floats, failing_share: float) -> float:
    """What to add so that this share lies below the threshold."""
    if len(log_odds) == 0:
        return 0.0
    return float(special.logit(CALIBRATED_AT) - np.quantile(log_odds, failing_share))


def groups(rows: Sequence[object], attribute: str) -> Ints:
    known: dict[str, int] = {}
    return np.array([known.setdefault(getattr(row, attribute), len(known)) for row in rows], dtype=np.int64)


def hashed_normal(seed: int, *columns: Ints) -> Floats:
    """A standard normal that depends on nothing but the numbers: the same on every machine and order."""
    mixed = np.full(columns[0].shape, np.uint64(seed % 2**32 + 1), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    uniform = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    return np.asarray(special.ndtri(uniform))


# Other shapes

#: Standard deviation of what a value adds to an entity in the usual landscape; other shapes keep it.
USUAL_SPREAD = 1.87
#: What a strong interaction takes from the log-odds: the weakest of them brings a rate of .998 down to .8.
LEAST_STRIKE, MOST_STRIKE = 5.0, 10.0


class LowRank(Landscape):
    """Entities and values have three hidden traits each; their products decide. Classes mean nothing."""

    rank = 3

    def _value_effects(self, rng: np.random.Generator) -> Floats:
        corpus = self.lattice.corpus
        of_entities = rng.normal(0, 1, (len(corpus.entities), self.rank))
        self._traits = rng.normal(0, 1, (len(corpus.values), self.rank))
        effect = of_entities @ self._traits.T * (USUAL_SPREAD / np.sqrt(self.rank))
        return np.asarray(effect + rng.normal(0, 0.2, effect.shape))

    def _value_pairs(self, rng: np.random.Generator, count: int) -> Floats:
        if count == 0:
            return np.zeros((0, 0))
        mixed = rng.normal(0, 1, (self.rank, self.rank))
        return np.asarray(self._traits @ (mixed + mixed.T) @ self._traits.T / (self.rank * np.sqrt(2)))

    def _own_pairs(self, entities: Ints, first: Ints, second: Ints) -> Floats:
        return 0.3 * hashed_normal(self._seed, entities, first, second)


class Sparse(Landscape):
    """Nearly everything works alike; a few combinations, drawn at random, fail badly."""

    def _entity_effects(self, rng: np.random.Generator) -> Floats:
        count = len(self.lattice.corpus.entities)
        return np.asarray(rng.normal(0, 0.4, count) - _strikes(rng.random(count), self.wanted.entity))

    def _value_effects(self, rng: np.random.Generator) -> Floats:
        shape = len(self.lattice.corpus.entities), len(self.lattice.corpus.values)
        return np.asarray(rng.normal(0, 0.4, shape) - _strikes(rng.random(shape), self.wanted.one_value))

    def _value_pairs(self, rng: np.random.Generator, count: int) -> Floats:
        return -_strikes(rng.random((count, count)), self.wanted.two_values / 2)

    def _own_pairs(self, entities: Ints, first: Ints, second: Ints) -> Floats:
        luck = hashed_normal(self._seed, entities, first, second)
        return np.asarray(0.1 * luck - _strikes(special.ndtr(luck), self.wanted.two_values / 2))


def _strikes(luck: Floats, share: float) -> Floats:
    """What is taken where uniform luck is below the share, the more the lower it is; 0 elsewhere."""
    struck = LEAST_STRIKE + (MOST_STRIKE - LEAST_STRIKE) * (1 - luck / share)
    return np.asarray(np.where(luck < share, struck, 0.0))


class TaxonomyDriven(Landscape):
    """Classes and sub-classes decide almost everything: entities of one sub-class are alike."""

    of_entities = (1.0, 1.2, 0.3)
    of_values = (0.0, 0.0, 1.2, 1.4, 0.2)

    def _own_pairs(self, entities: Ints, first: Ints, second: Ints) -> Floats:
        subs = groups(self.lattice.corpus.entities, "sub_class")[entities]
        return 0.9 * hashed_normal(self._seed, subs, first, second)


class Unrelated(Landscape):
    """Every node has a rate of its own, drawn independently: nothing can be learnt from other nodes."""

    def _value_effects(self, rng: np.random.Generator) -> Floats:
        shape = len(self.lattice.corpus.entities), len(self.lattice.corpus.values)
        return np.asarray(rng.normal(0, USUAL_SPREAD, shape) - self._entity[:, None] / self._spread)

    def _log_odds(self, entities: Ints, values: Ints) -> Floats:
        if values.shape[1] < 2:
            return super()._log_odds(entities, values)
        own = hashed_normal(self._seed, entities, *values.T)
        return np.asarray(self._pair_shift + self._spread * USUAL_SPREAD * own)


class Adversarial(Landscape):
    """Whatever passes does so barely, at rates of .80 to .85: no parent is ever clear."""

    def _bent(self, rates: Floats) -> Floats:
        over = (rates - CALIBRATED_AT) / (1 - CALIBRATED_AT)
        return np.asarray(np.where(over >= 0, CALIBRATED_AT + 0.05 * over, rates))


class EntityDominated(Landscape):
    """40 % of the entities fail by themselves; values matter little, and fail a fifth as often as usual."""

    def _shares(self, regime: Regime) -> Regime:
        return Regime(0.40, regime.one_value / 5, regime.two_values / 5)

    def _entity_effects(self, rng: np.random.Generator) -> Floats:
        return 2 * super()._entity_effects(rng)

    def _value_effects(self, rng: np.random.Generator) -> Floats:
        return super()._value_effects(rng) / 3

    def _value_pairs(self, rng: np.random.Generator, count: int) -> Floats:
        return super()._value_pairs(rng, count) / 3

    def _own_pairs(self, entities: Ints, first: Ints, second: Ints) -> Floats:
        return super()._own_pairs(entities, first, second) / 3


class NearMiss(Landscape):
    """30 % of the entities fail, and all of those by a hair, at rates of .74 to .80."""

    def _shares(self, regime: Regime) -> Regime:
        return Regime(0.30, regime.one_value, regime.two_values)

    def _make_entities(self, rng: np.random.Generator) -> Floats:
        rates = special.expit(super()._make_entities(rng))
        bent = 0.74 + (CALIBRATED_AT - 0.74) * rates / CALIBRATED_AT
        return np.asarray(special.logit(np.where(rates < CALIBRATED_AT, bent, rates)))


class Clear(Landscape):
    """What passes passes nearly always, and what fails nearly never: thrice as far from the threshold as
    usual, in log-odds. toy-painter is such a model."""

    def _bent(self, rates: Floats) -> Floats:
        edge = special.logit(CALIBRATED_AT)
        return np.asarray(special.expit(edge + 3 * (special.logit(np.clip(rates, 1e-6, 1 - 1e-6)) - edge)))


SHAPES: dict[str, type[Landscape]] = {
    "planted": Landscape,
    "clear": Clear,
    "low-rank": LowRank,
    "sparse": Sparse,
    "taxonomy": TaxonomyDriven,
    "unrelated": Unrelated,
    "adversarial": Adversarial,
    "entity-dominated": EntityDominated,
    "near-miss": NearMiss,
}


def make_landscape(lattice: Lattice, regime: str, seed: int, spread: str, shape: str) -> Landscape:
    if shape not in SHAPES:
        raise ConfigError(f"there is no shape {shape!r}", f"use one of: {', '.join(SHAPES)}")
    return SHAPES[shape](lattice, regime, seed, spread)
