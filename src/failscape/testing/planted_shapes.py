"""Landscapes of other shapes than the usual one: what a search must not have been built for.

Each changes what makes nodes fail and keeps the rest: shares of failing nodes are still those of the regime,
except where the shape says otherwise.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from failscape.errors import ConfigError
from failscape.spaces.lattice import Lattice
from failscape.testing.planted_landscape import (
    CALIBRATED_AT,
    Floats,
    Ints,
    Landscape,
    Regime,
    groups,
    hashed_normal,
)

USUAL_SPREAD = 1.87
"""Standard deviation of what a value adds to an entity in the usual landscape; other shapes keep it."""
LEAST_STRIKE, MOST_STRIKE = 5.0, 10.0
"""What a strong interaction takes from the log-odds: the weakest of them brings a rate of .998 down to .8."""


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

    def _entity_effects(self, rng: np.random.Generator) -> Floats:
        corpus = self.lattice.corpus
        classes, subs = groups(corpus.entities, "upper_class"), groups(corpus.entities, "sub_class")
        raw = rng.normal(0, 1.0, classes.max() + 1)[classes] + rng.normal(0, 1.2, subs.max() + 1)[subs]
        return np.asarray(raw + rng.normal(0, 0.3, len(corpus.entities)))

    def _value_effects(self, rng: np.random.Generator) -> Floats:
        corpus = self.lattice.corpus
        classes, subs = groups(corpus.entities, "upper_class"), groups(corpus.entities, "sub_class")
        count = len(corpus.values)
        effect = rng.normal(0, 1.2, (classes.max() + 1, count))[classes]
        effect = effect + rng.normal(0, 1.4, (subs.max() + 1, count))[subs]
        return np.asarray(effect + rng.normal(0, 0.2, effect.shape))

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


SHAPES: dict[str, type[Landscape]] = {
    "planted": Landscape,
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
