"""The planted world itself: true rates, what an image shows, and what a judge with set errors says of it.

Everything follows from the world's seed, the node and the image's seed. No I/O, no pictures.

True success rates for every node of a lattice, made from a seed, with structure like that of real models.

Entities, values, their classes and pairs of values each have effects on the log-odds. Shifts are solved so
that the shares of failing nodes, among nodes whose parents all pass, match a regime. How far rates spread
around the threshold is a second setting. Rates are computed when asked for; nothing grows with the nodes.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.errors import ConfigError
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.understanding import Understanding
from failscape.spaces.wording import Wording
from failscape.trials import Probe, Trial, Verdict, reach_verdict

Floats = NDArray[np.float64]

CALIBRATED_AT = 0.8
"""The threshold at which a regime's failing shares hold."""

_PAIR_SAMPLE = 20_000
_MARGIN = 1e-4


class Regime(NamedTuple):
    """Shares of nodes that fail although all their parents pass, by number of values."""

    entity: float
    one_value: float
    two_values: float


REGIMES = {
    "weak": Regime(0.21, 0.84, 0.44),
    "medium": Regime(0.08, 0.40, 0.25),
    "strong": Regime(0.02, 0.08, 0.10),
}


SPREADS = {"narrow": 0.7, "wide": 1.0}
"""All effects on the log-odds are multiplied by this. A narrow world has more nodes near the threshold."""


class Landscape:
    """`rates` of nodes, and how likely each check is to be the one that drops."""

    def __init__(self, lattice: Lattice, regime: str = "medium", seed: int = 0, spread: str = "wide") -> None:
        if regime not in REGIMES:
            raise ConfigError(f"there is no regime {regime!r}", f"use one of: {', '.join(REGIMES)}")
        if spread not in SPREADS:
            raise ConfigError(f"there is no spread {spread!r}", f"use one of: {', '.join(SPREADS)}")
        self.lattice = lattice
        self._spread = SPREADS[spread]
        self._seed = seed
        rng = np.random.default_rng([seed, 7])
        wanted = REGIMES[regime]
        self._entity = self._make_entities(rng, wanted.entity)
        self._single = self._make_singles(rng, wanted.one_value)
        count = len(lattice.corpus.values)
        pairs = self._spread * rng.normal(0.0, 1.0, (count, count))
        self._pair = np.triu(pairs, 1) + np.triu(pairs, 1).T
        self._pair_shift = 0.0
        self._pair_shift = self._solve_pair_shift(rng, wanted.two_values)

    def rates(self, nodes: Sequence[Node]) -> Floats:
        """True success rates of nodes that all have equally many values."""
        entities = np.array([node.entity for node in nodes], dtype=np.int64)
        values = np.array([node.values for node in nodes], dtype=np.int64).reshape(len(nodes), -1)
        return _chance(self._log_odds(entities, values))

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

    def _make_entities(self, rng: np.random.Generator, share: float) -> Floats:
        corpus = self.lattice.corpus
        classes, subs = _groups(corpus.entities, "upper_class"), _groups(corpus.entities, "sub_class")
        raw = rng.normal(0, 0.5, classes.max() + 1)[classes] + rng.normal(0, 0.5, subs.max() + 1)[subs]
        raw = self._spread * (raw + rng.normal(0, 1.5, len(corpus.entities)))
        return np.asarray(raw + _shift(raw[list(self.lattice.entities)], share))

    def _make_singles(self, rng: np.random.Generator, share: float) -> Floats:
        """Log-odds of an entity with one value."""
        corpus = self.lattice.corpus
        classes, subs = _groups(corpus.entities, "upper_class"), _groups(corpus.entities, "sub_class")
        kinds, count = _groups(corpus.values, "kind"), len(corpus.values)
        if count == 0:
            return np.zeros((len(corpus.entities), 0))
        by_value = rng.normal(0, 1.1, count) + rng.normal(0, 0.7, kinds.max() + 1)[kinds]
        effect = by_value + rng.normal(0, 0.9, (classes.max() + 1, count))[classes]
        effect = effect + rng.normal(0, 0.6, (subs.max() + 1, count))[subs]
        effect = effect + rng.normal(0, 0.8, effect.shape)
        raw = self._entity[:, None] + self._spread * effect
        reachable = self._allowed() & self._passes(self._entity)[:, None]
        return np.asarray(raw + _shift(raw[reachable], share))

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

    def _log_odds(self, entities: NDArray[np.int64], values: NDArray[np.int64]) -> Floats:
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

    def _pair_effect(
        self, entities: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> Floats:
        own = self._spread * 0.9 * _hashed_normal(self._seed, entities, first, second)
        return np.asarray(self._pair_shift + self._pair[first, second] + own)


def _chance(log_odds: NDArray[np.float64] | float) -> Floats:
    return np.asarray(np.clip(special.expit(log_odds), _MARGIN, 1 - _MARGIN))


def _shift(log_odds: Floats, failing_share: float) -> float:
    """What to add so that this share lies below the threshold."""
    if len(log_odds) == 0:
        return 0.0
    return float(special.logit(CALIBRATED_AT) - np.quantile(log_odds, failing_share))


def _groups(rows: Sequence[object], attribute: str) -> NDArray[np.int64]:
    known: dict[str, int] = {}
    return np.array([known.setdefault(getattr(row, attribute), len(known)) for row in rows], dtype=np.int64)


def _hashed_normal(seed: int, *columns: NDArray[np.int64]) -> Floats:
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


_ALSO_DROPS = 0.15
"""In a failed image, every other check drops as well with this chance."""

_LARGEST_ENUMERATION = 2_000_000
_WORDS = struct.Struct(">8Q")


class Accuracy(NamedTuple):
    """How a judge errs on one kind of check: P(true | true) and P(false | false)."""

    sensitivity: float = 1.0
    specificity: float = 1.0


class Plan(NamedTuple):
    """What `run` needs to know about a node."""

    rate: float
    weights: list[float]
    kinds: list[str]


class PlantedWorld:
    """`accuracy` maps kinds of checks to the judge's errors; "*" stands for all kinds not named.

    `undecided` is the share of images on which the judge gives no usable reply.
    """

    def __init__(
        self,
        lattice: Lattice,
        regime: str = "medium",
        seed: int = 0,
        accuracy: Mapping[str, Sequence[float]] | None = None,
        undecided: float = 0.0,
        spread: str = "wide",
    ) -> None:
        self.lattice = lattice
        self.seed = seed
        self.landscape = Landscape(lattice, regime, seed, spread)
        self.undecided = undecided
        self._accuracy = {kind: Accuracy(*pair) for kind, pair in (accuracy or {}).items()}
        self._plans: dict[str, Plan] = {}

    @classmethod
    def named(
        cls,
        corpus: str = "starter",
        regime: str = "medium",
        seed: int = 0,
        depth: int = 2,
        accuracy: Mapping[str, Sequence[float]] | None = None,
        undecided: float = 0.0,
        spread: str = "wide",
    ) -> PlantedWorld:
        """A world over a whole corpus, from plain settings."""
        return cls(Lattice(load_corpus(corpus), depth=depth), regime, seed, accuracy, undecided, spread)

    # Truth

    def rate(self, node: Node) -> float:
        """The true success rate."""
        return self.landscape.rate(node)

    def judged_rate(self, node: Node) -> float:
        """The share of images that the judge lets pass: the true rate seen through its errors."""
        kinds, weights = self._kinds(node), self.landscape.drop_weights(node)
        rate = self.rate(node)
        accuracies = [self.accuracy(kind) for kind in kinds]
        passed = rate
        for accuracy in accuracies:
            passed *= accuracy.sensitivity
        for blamed, weight in enumerate(weights):
            chance = (1 - rate) * weight
            for place, accuracy in enumerate(accuracies):
                drops = 1.0 if place == blamed else _ALSO_DROPS
                chance *= (1 - drops) * accuracy.sensitivity + drops * (1 - accuracy.specificity)
            passed += chance
        return passed

    def minimal_failures(self, threshold: float = 0.8) -> dict[Node, float]:
        """Every node below the threshold none of whose ancestors is, with its true rate. Exact."""
        size = len(self.lattice)
        if size > _LARGEST_ENUMERATION:
            raise ConfigError(f"{size:,} nodes are too many to enumerate", "use a smaller lattice")
        found: dict[Node, float] = {}
        sound: set[Node] = set()
        for layer in range(self.lattice.depth + 1):
            nodes = [n for n in self.lattice.nodes(layer) if all(p in sound for p in self.lattice.parents(n))]
            rates = self.landscape.rates(nodes).tolist() if nodes else []
            found |= {node: rate for node, rate in zip(nodes, rates, strict=True) if rate < threshold}
            sound = {node for node, rate in zip(nodes, rates, strict=True) if rate >= threshold}
        return found

    def accuracy(self, kind: str) -> Accuracy:
        return self._accuracy.get(kind) or self._accuracy.get("*") or Accuracy()

    # Outcomes

    def run(self, probe: Probe) -> Trial:
        """The trial of a probe: what the generator would draw and the judge would say, without pictures."""
        plan = self.plan(probe.subject)
        grain = self.grain(probe.subject, probe.seed)
        holds = self.outcome(plan.rate, plan.weights, grain)
        facts: list[Any] = [f"{grain:016x}"]
        if self.is_undecided(grain):
            facts.append(None)
            reason = "judge: undecided"
            return Trial(probe.key, probe.subject, Verdict.INVALID, reason, facts, probe.seed)
        facts.append([self.says(held, kind, grain) for held, kind in zip(holds, plan.kinds, strict=True)])
        verdict, reason = reach_verdict(probe.steps, facts)
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)

    def grain(self, subject: str, image_seed: int) -> int:
        """One number per image that fixes all its luck."""
        text = f"{self.seed}|{subject}|{image_seed}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

    @staticmethod
    def outcome(rate: float, weights: Sequence[float], grain: int) -> list[bool]:
        """Which checks hold in an image. One check is to blame for a failure, others may drop with it."""
        luck = _luck(grain, "outcome")
        if luck[0] < rate:
            return [True] * len(weights)
        holds = [luck[2 + place % 6] >= _ALSO_DROPS for place in range(len(weights))]
        blamed, mark = 0, luck[1]
        while blamed < len(weights) - 1 and mark >= weights[blamed]:
            mark -= weights[blamed]
            blamed += 1
        holds[blamed] = False
        return holds

    def is_undecided(self, grain: int) -> bool:
        return self.undecided > 0 and _luck(grain, "undecided")[0] < self.undecided

    def says(self, holds: bool, kind: str, grain: int) -> bool:
        """The judge's word on a check that truly holds or not."""
        accuracy = self.accuracy(kind)
        right = accuracy.sensitivity if holds else accuracy.specificity
        if right >= 1:
            return holds
        return holds if _luck(grain, f"judge {kind}")[0] < right else not holds

    def plan(self, subject: str) -> Plan:
        plan = self._plans.get(subject)
        if plan is None:
            if len(self._plans) > 50_000:
                self._plans.clear()
            node = self.lattice.parse(subject)
            plan = Plan(self.rate(node), self.landscape.drop_weights(node), self._kinds(node))
            self._plans[subject] = plan
        return plan

    def _kinds(self, node: Node) -> list[str]:
        return ["entity", *(self.lattice.corpus.values[value].kind for value in node.values)]

    @cached_property
    def understanding(self) -> Understanding:
        return Understanding(Wording(self.lattice.corpus))

    @cached_property
    def corpus_mark(self) -> int:
        """Tells pictures of one corpus from those of another."""
        corpus = self.lattice.corpus
        names = [entity.name for entity in corpus.entities] + [value.label for value in corpus.values]
        return zlib.crc32("\n".join(names).encode())


def _luck(grain: int, purpose: str) -> tuple[float, ...]:
    """Eight independent uniform numbers."""
    digest = hashlib.blake2b(f"{grain}|{purpose}".encode(), digest_size=64).digest()
    return tuple(word / 2.0**64 for word in _WORDS.unpack(digest))
