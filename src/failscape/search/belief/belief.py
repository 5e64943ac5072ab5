"""What the trials so far make us expect of every node. It guides the search and proves nothing.

Layer by layer: log-odds of success from crossed effects of entities, values and their classes, on top of what
the layer above implies; then, by empirical Bayes, a prior over the true rate for every prediction.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.errors import ConfigError
from failscape.search.belief.nodes import NO_VALUE, Codes, Ints, Nodes
from failscape.search.belief.transfer import learn_share
from failscape.spaces.lattice import Lattice
from failscape.stats.effects import Effects, Levels, fit_effects
from failscape.stats.rate_priors import (
    GRID,
    Seen,
    bell_priors,
    by_a_hair,
    log_likelihoods,
    mean_above,
    mix_priors,
    row_of,
    wary_priors,
)

Floats = NDArray[np.float64]

_FIRST_GUESS = (1.5, 0.0, 0.0)
"""Log-odds of success expected of a layer before its first image; above layer 0, relative to the parents."""

_FIRST_SPREAD = 3.0
_LEAST_SPREAD = 0.8
NO_ROW = -1
"""The row of a slot that had no image when the belief was formed."""

_LEAST_NODES = 12
"""Fewer nodes than this teach a layer nothing; its first guess stays."""

_LEAST_TO_CARRY = 6
"""A single number is learned from fewer: how much of an earlier hunt holds on a layer."""

_MANY_ENTITIES = 75
_SHIFTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
"""Log-odds by which other entities may be better than was learned, where some are taken to fail by a hair.
Without them that share was far too small while entities had five images each: in worlds where 30 % of the
entities fail at .74 to .80, 10 % of a list of 50 to 100 claims rested on such entities. Few entities have
more images each, and cannot tell how many of them fail so: there it only made claims dearer."""


@dataclass(frozen=True, slots=True)
class CountsAtRefit:
    """Opened nodes and their images, as they were at one moment."""

    nodes: Nodes
    layers: Ints
    passes: Ints
    fails: Ints
    seen: tuple[NDArray[np.int32], NDArray[np.int32]]
    """What images of larger nodes showed of entities and of entities with one value: (held, looked at)."""

    def of_layer(self, layer: int) -> tuple[Nodes, Floats, Floats, Ints]:
        """Tried nodes of a layer, their successes and failures, and their slots."""
        slots = np.flatnonzero((self.layers == layer) & (self.passes + self.fails > 0))
        return self.nodes[slots], self.passes[slots].astype(float), self.fails[slots].astype(float), slots


def counts_of(lattice: Lattice, counts: Mapping[str, tuple[int, int]]) -> CountsAtRefit:
    """Passes and fails by subject, as far as they are nodes of the lattice."""
    place_of = {entity: place for place, entity in enumerate(lattice.entities)}
    width = max(lattice.depth, 1)
    rows: list[tuple[int, ...]] = []
    for subject, (passes, fails) in counts.items():
        with contextlib.suppress(ConfigError):
            node = lattice.parse(subject)
            padded = (*node.values, *[NO_VALUE] * (width - len(node.values)))
            rows.append((place_of[node.entity], len(node.values), passes, fails, *padded))
    table = np.array(rows, dtype=np.int64).reshape(-1, 4 + width)
    size, values = len(lattice.entities), len(lattice.corpus.values)
    seen = np.zeros((size, 2), dtype=np.int32), np.zeros((size, values, 2), dtype=np.int32)
    return CountsAtRefit(Nodes(table[:, 0], table[:, 4:]), table[:, 1], table[:, 2], table[:, 3], seen)


_BINS = 24


class Taxonomy:
    """Numbers for the classes of entities and the kinds of values."""

    def __init__(self, uppers: list[str], subs: list[str], kinds: list[str]) -> None:
        """By entity the names of its class and sub-class, by value the name of its kind."""
        self.upper, self.sub, self.kind = _numbers(uppers), _numbers(subs), _numbers(kinds)
        self.entities, self.values = len(uppers), len(kinds)
        self.uppers, self.subs = _size(self.upper), _size(self.sub)
        self.kinds = _size(self.kind)

    @classmethod
    def of_lattice(cls, lattice: Lattice) -> Taxonomy:
        corpus = lattice.corpus
        entities = [corpus.entities[entity] for entity in lattice.entities]
        return cls(
            [entity.upper_class for entity in entities],
            [f"{entity.upper_class}/{entity.sub_class}" for entity in entities],
            [value.kind for value in corpus.values],
        )


@dataclass(slots=True)
class _Layer:
    priors: Floats
    wary: tuple[Floats, Floats]
    fit: Effects | None = None
    pairs: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    seen: Floats = field(default_factory=lambda: np.zeros(_BINS))
    usual_error: float = 0.0


class Belief:
    """Fitted once from counts; asking changes nothing. `priors[layer]` is a table by rows of predictions."""

    def __init__(
        self,
        taxonomy: Taxonomy,
        depth: int,
        counts: CountsAtRefit,
        threshold: float,
        earlier: Belief | None = None,
        hope: float = 0.0,
        edges: Sequence[float] = (),
    ) -> None:
        """`edges`: by layer, the rate that the judge makes of the threshold.

        `earlier` is what another hunt made one expect. How much of it holds here is learned from `counts`
        layer by layer; `hope` is the share that is taken to hold before anything is known."""
        self._taxonomy = taxonomy
        self._earlier = earlier
        self._counts = counts
        self._own: dict[int, tuple[Codes, Floats]] = {}
        self.carried: list[float] = []
        """By layer: the share of what `earlier` knew beyond the layer above that is taken to hold."""
        self._hope = hope
        self._layers: list[_Layer] = []
        self.slot_rows = np.full(len(counts.layers), NO_ROW, dtype=np.int64)
        self._entity = np.full(taxonomy.entities, _FIRST_GUESS[0])
        self._single = np.zeros((0, 0))
        self._singles: dict[bool, Floats] = {}
        self._errors_of_singles: Floats | None = None
        self._threshold = threshold
        self._edges = edges or [threshold] * (depth + 1)
        self._entity_if_pass, self._single_if_pass = self._entity, self._single
        self._seen = tuple(_bins(part) for part in counts.seen)
        for layer in range(depth + 1):
            self._learn(layer, counts)

    @property
    def priors(self) -> list[Floats]:
        return [layer.priors for layer in self._layers]

    @property
    def wary(self) -> list[tuple[Floats, Floats]]:
        """By layer the priors for who would claim that a node fails, and for who would claim that it passes.

        Claims fall with their entity, so there as many fail by a hair as the counts allow.
        """
        return [layer.wary for layer in self._layers]

    @property
    def singles(self) -> Floats:
        """[entity, value]: log-odds expected of an entity with one value, its own images included."""
        return self._single

    def rows(self, layer: int, nodes: Nodes, optimism: float = 0.0, if_pass: bool = False) -> Ints:
        """The row of priors that fits each node, from what other nodes say.

        With `optimism`, nodes of which less is known than usual are taken to be worse than predicted. With
        `if_pass`, the answer is for the case that all ancestors pass.
        """
        predicted = self._predict(layer, nodes, if_pass)
        fit = self._layers[layer].fit
        if optimism and fit is not None and len(nodes):
            above_usual = self._standard_error(fit, layer, nodes) - self._layers[layer].usual_error
            predicted = predicted - optimism * np.maximum(above_usual, 0.0)
        return row_of(predicted)

    def beyond(self, layer: int, nodes: Nodes) -> Floats:
        """What is known of nodes beyond what the layer above implies, in log-odds, their own images included:
        for a later hunt to build on."""
        if layer == 0:
            return np.asarray(self._entity[nodes.entity] - _FIRST_GUESS[0])
        offset = self._offset(layer, nodes)
        if layer == 1:
            return np.asarray(self._single[nodes.entity, nodes.values[:, 0]] - offset)
        known = self._predict(layer, nodes)
        codes, means = self._means(layer)
        if len(codes):
            place = np.minimum(np.searchsorted(codes, nodes.codes), len(codes) - 1)
            known = np.where(codes[place] == nodes.codes, means[place], known)
        return known - offset

    def _means(self, layer: int) -> tuple[Codes, Floats]:
        """Codes of tried nodes, ascending, and their log-odds by the prior and their own images."""
        if layer not in self._own:
            nodes, passes, fails, slots = self._counts.of_layer(layer)
            order = np.argsort(nodes.codes)
            means = self._posterior(layer, slots, passes, fails) @ GRID if len(nodes) else np.zeros(0)
            self._own[layer] = nodes.codes[order], means[order]
        return self._own[layer]

    # Learning

    def _learn(self, layer: int, counts: CountsAtRefit) -> None:
        nodes, passes, fails, slots = counts.of_layer(layer)
        self._carry(layer, nodes, passes, fails)
        if len(nodes) < _LEAST_NODES:
            first = bell_priors(_FIRST_SPREAD)  # made of no counts: nothing to be wary of
            self._layers.append(_Layer(first, (first, first)))
            if len(nodes):
                self.slot_rows[slots] = row_of(self._predict(layer, nodes))
        else:
            none = np.zeros((0, 0))
            known = _Layer(none, (none, none), None, self._seen_pairs(nodes) if layer >= 2 else _EMPTY)
            self._layers.append(known)
            levels, sizes = self._levels(layer, nodes)
            offset = self._offset(layer, nodes)
            fit = fit_effects(levels, sizes, offset, passes, passes + fails)
            known.fit = fit
            known.usual_error = float(np.median(fit.standard_error(levels)))
            predicted = fit.held_out
            if layer < 2:
                bins = self._bins_of(layer, nodes)
                known.seen = _learn_seen(bins, predicted, passes, fails)
                predicted = predicted + _look_up(known.seen, bins)
            spread = max(fit.spread, _LEAST_SPREAD)
            known.priors = mix_priors(predicted, passes, fails, spread)
            known.wary = self._wary(layer, known.priors, Seen(predicted, passes, fails))
            self.slot_rows[slots] = row_of(predicted)
        self._pass_on(layer, nodes, passes, fails, slots)

    def _wary(self, layer: int, priors: Floats, seen: Seen) -> tuple[Floats, Floats]:
        edge = self._edges[layer]
        failing, passing = wary_priors(priors, seen, edge)
        shifts = _SHIFTS if self._taxonomy.entities >= _MANY_ENTITIES else _SHIFTS[:1]
        return failing, passing if layer else seen.mixed(passing, by_a_hair(edge), shifts)

    def _carry(self, layer: int, nodes: Nodes, passes: Floats, fails: Floats) -> None:
        """Learn how much of the earlier belief holds on a layer; before that, as much as on the one above."""
        expected = self.carried[-1] if self.carried else self._hope
        self.carried.append(0.0)
        if self._earlier is not None and len(nodes) >= _LEAST_TO_CARRY:
            offset, beyond = self._offset(layer, nodes), self._earlier.beyond(layer, nodes)
            learned = learn_share(beyond, offset, passes, passes + fails, expected)
            # What was opened on the word of the old hunt looks right by selection: no layer is trusted more
            # than the one that it builds on.
            expected = min(learned, expected) if layer > 1 else learned
        self.carried[layer] = expected

    def _pass_on(self, layer: int, nodes: Nodes, passes: Floats, fails: Floats, slots: Ints) -> None:
        """Keep what the next layers build upon: best guesses for entities alone and with one value, and the
        same given that they pass. A minimal failure is one whose parents pass: it must be likely then."""
        taxonomy, fit = self._taxonomy, self._layers[layer].fit
        if layer == 0:
            everything = Nodes(np.arange(taxonomy.entities), _no_values(taxonomy.entities))
            self._entity = self._predict(0, everything)
            self._entity_if_pass = self._if_pass(0, self._entity)
            if fit is not None:
                weights = self._posterior(0, slots, passes, fails)
                self._entity[nodes.entity] = weights @ GRID
                self._entity_if_pass[nodes.entity] = mean_above(weights, self._threshold)
        elif layer == 1:
            grid = self._predict_singles(if_pass=False)
            self._single, self._single_if_pass = grid.copy(), self._if_pass(1, grid)
            if fit is not None:
                at = (nodes.entity, nodes.values[:, 0])
                weights = self._posterior(1, slots, passes, fails)
                self._single[at] = weights @ GRID
                self._single_if_pass[at] = mean_above(weights, self._threshold)

    def _if_pass(self, layer: int, predicted: Floats) -> Floats:
        table = mean_above(self._layers[layer].priors, self._threshold)
        return np.asarray(table[row_of(predicted)])

    def _posterior(self, layer: int, slots: Ints, passes: Floats, fails: Floats) -> Floats:
        """[node, grid point]: what the prior and the node's own images say together."""
        logs = log_likelihoods(passes, fails)
        priors = self._layers[layer].priors[self.slot_rows[slots]]
        weights = priors * np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _predict(self, layer: int, nodes: Nodes, if_pass: bool = False) -> Floats:
        if layer == 1:
            return np.asarray(self._predict_singles(if_pass)[nodes.entity, nodes.values[:, 0]])
        offset, known = self._offset(layer, nodes, if_pass), self._layers[layer]
        if known.fit is None:
            return offset + (_FIRST_GUESS[2] if layer else 0.0)
        predicted = known.fit.predict(self._levels(layer, nodes)[0], offset)
        return predicted if layer else predicted + _look_up(known.seen, self._bins_of(0, nodes))

    def _predict_singles(self, if_pass: bool) -> Floats:
        """[entity, value]. All are asked for at every refit, so they are worked out once, row by row."""
        if if_pass not in self._singles:
            taxonomy, known = self._taxonomy, self._layers[1]
            entity = np.repeat(np.arange(taxonomy.entities), taxonomy.values)
            value = np.tile(np.arange(taxonomy.values), taxonomy.entities)
            offset = self._offset(1, Nodes(entity, value[:, None]), if_pass)
            predicted = offset.reshape(taxonomy.entities, taxonomy.values)
            if known.fit is None:
                predicted = predicted + _FIRST_GUESS[1]
            else:
                predicted = predicted + known.fit.intercept
                for effects in self._of_singles(known.fit.effects):
                    predicted = predicted + effects
                predicted = predicted + _look_up(known.seen, self._seen[1])
            self._singles[if_pass] = predicted
        return self._singles[if_pass]

    def _standard_error(self, fit: Effects, layer: int, nodes: Nodes) -> Floats:
        """The standard error of the predictions of nodes."""
        if layer != 1:
            return fit.standard_error(self._levels(layer, nodes)[0])
        if self._errors_of_singles is None:
            total = np.zeros((self._taxonomy.entities, self._taxonomy.values))
            for errors in self._of_singles(fit.errors):
                total += errors
            self._errors_of_singles = np.sqrt(total)
        return np.asarray(self._errors_of_singles[nodes.entity, nodes.values[:, 0]])

    def _of_singles(self, of_levels: Sequence[Floats]) -> list[Floats]:
        """What the levels of each factor of layer 1 have, as parts of [entity, value]."""
        taxonomy = self._taxonomy
        entity, value, kind, upper, sub, own = of_levels
        return [
            entity[:, None],
            value[None, :],
            kind[taxonomy.kind][None, :],
            upper.reshape(taxonomy.uppers, taxonomy.values)[taxonomy.upper],
            sub.reshape(taxonomy.subs, taxonomy.values)[taxonomy.sub],
            own.reshape(taxonomy.entities, taxonomy.kinds)[:, taxonomy.kind],
        ]

    def _bins_of(self, layer: int, nodes: Nodes) -> Ints:
        at = (nodes.entity,) if layer == 0 else (nodes.entity, nodes.values[:, 0])
        return np.asarray(self._seen[layer][at])

    # The shape of the model

    def _offset(self, layer: int, nodes: Nodes, if_pass: bool = False) -> Floats:
        """What the layer above implies, and what an earlier hunt knew beyond it, as far as that holds."""
        implied = self._implied(layer, nodes, if_pass)
        share = self.carried[layer]
        if self._earlier is None or not share:
            return implied
        return np.asarray(np.clip(implied + share * self._earlier.beyond(layer, nodes), -6.0, 6.0))

    def _implied(self, layer: int, nodes: Nodes, if_pass: bool) -> Floats:
        """Values combine as if independent given the entity."""
        if layer == 0:
            return np.full(len(nodes), _FIRST_GUESS[0])
        alone = (self._entity_if_pass if if_pass else self._entity)[nodes.entity]
        single = self._single_if_pass if if_pass else self._single
        if layer == 1:
            return alone
        own = special.log_expit(alone)
        together = own.copy()
        for column in range(layer):
            together += special.log_expit(single[nodes.entity, nodes.values[:, column]]) - own
        together = np.minimum(together, -1e-3)
        offset = together - np.log(-np.expm1(together))
        fit = self._layers[2].fit if layer > 2 else None
        if fit is not None:
            pairs = self._pair_levels(2, nodes, layer)
            offset = offset + np.where(pairs < 0, 0.0, fit.effects[-1][pairs]).sum(axis=1)
        return np.asarray(np.clip(offset, -6.0, 6.0))

    def _levels(self, layer: int, nodes: Nodes) -> tuple[list[Levels], list[int]]:
        taxonomy, entity = self._taxonomy, nodes.entity
        if layer == 0:
            levels = [taxonomy.upper[entity], taxonomy.sub[entity]]
            return [column[:, None] for column in levels], [taxonomy.uppers, taxonomy.subs]
        values = nodes.values[:, :layer]
        if layer == 1:
            value = values[:, 0]
            kind = taxonomy.kind[value]
            columns = [
                (entity, taxonomy.entities),
                (value, taxonomy.values),
                (kind, taxonomy.kinds),
                (taxonomy.upper[entity] * taxonomy.values + value, taxonomy.uppers * taxonomy.values),
                (taxonomy.sub[entity] * taxonomy.values + value, taxonomy.subs * taxonomy.values),
                (entity * taxonomy.kinds + kind, taxonomy.entities * taxonomy.kinds),
            ]
            return [column[:, None] for column, _ in columns], [size for _, size in columns]
        pairs = self._pair_levels(layer, nodes, layer)
        levels = [entity[:, None], values, self._kind_pairs(values), pairs]
        seen = len(self._layers[layer].pairs)
        return levels, [taxonomy.entities, taxonomy.values, taxonomy.kinds**2, seen]

    def _kind_pairs(self, values: Ints) -> Levels:
        kinds = np.sort(self._taxonomy.kind[values], axis=1)
        return np.stack(
            [kinds[:, i] * self._taxonomy.kinds + kinds[:, j] for i, j in _pairs(values.shape[1])], axis=1
        )

    def _pair_codes(self, nodes: Nodes, count: int) -> Levels:
        values = nodes.values
        columns = [values[:, i] * self._taxonomy.values + values[:, j] for i, j in _pairs(count)]
        return np.stack(columns, axis=1)

    def _seen_pairs(self, nodes: Nodes) -> Ints:
        layer = int((nodes.values[0] != NO_VALUE).sum())
        return np.unique(self._pair_codes(nodes, layer))

    def _pair_levels(self, layer: int, nodes: Nodes, count: int) -> Levels:
        """Numbers of the value pairs of each node among those that the fit of `layer` has seen, else −1."""
        codes, seen = self._pair_codes(nodes, count), self._layers[layer].pairs
        if not len(seen):
            return np.full_like(codes, -1)
        place = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
        return np.where(seen[place] == codes, place, -1)


def _learn_seen(bins: Ints, predicted: Floats, passes: Floats, fails: Floats) -> Floats:
    """What to add to a prediction, by bin. Nodes that were not seen in others must not be touched by this:
    which ones are seen is the search's choice. Hence a second fit, on top of the first."""
    rows = np.flatnonzero(bins >= 0)
    if len(rows) < _LEAST_NODES:
        return np.zeros(_BINS)
    trials = (passes + fails)[rows]
    fit = fit_effects([bins[rows, None]], [_BINS], predicted[rows], passes[rows], trials)
    return fit.intercept + fit.effects[0]


def _look_up(effects: Floats, bins: Ints) -> Floats:
    return np.where(bins < 0, 0.0, effects[bins])


_EMPTY = np.zeros(0, dtype=np.int64)


def _bins(seen: NDArray[np.int32]) -> Ints:
    """Levels of a factor: how often the checks of a node held in images of larger nodes; −1 if never seen."""
    held, looked = seen[..., 0], seen[..., 1]
    share = np.minimum((8 * (held + 0.5) / (looked + 0.6)).astype(np.int64), 7)
    much = np.digitize(looked, (4, 15))
    return np.where(looked > 0, share * 3 + much, -1)


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def _no_values(count: int) -> Ints:
    return np.full((count, 1), NO_VALUE, dtype=np.int64)


def _numbers(names: list[str]) -> Ints:
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _size(numbers: Ints) -> int:
    return int(numbers.max()) + 1 if len(numbers) else 0
