"""The planted world itself: true rates, what an image shows, and what a judge with set errors says of it.

Everything follows from the world's seed, the node and the image's seed. No I/O, no pictures.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

from failscape.errors import ConfigError
from failscape.simulate.landscape import make_landscape
from failscape.simulate.luck import luck_of
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.pair_wording import wording_of
from failscape.spaces.wording import Understanding
from failscape.trials import Probe, Trial, Verdict, reach_verdict

#: In a failed image, every other check drops as well with this chance.
_ALSO_DROPS = 0.15

_LARGEST_ENUMERATION = 2_000_000
_WORDS = struct.Struct(">8Q")


class Accuracy(NamedTuple):
    """How a judge errs on one kind of check: P(true | true) and P(false | false)."""

    sensitivity: float = 1.0
    specificity: float = 1.0


class Uneven(NamedTuple):
    """Of all words (entities and values) this share is called true only so often where it holds.

    The others are called true a little more often than `accuracy` says, so that the mean is what it says.
    """

    share: float
    sensitivity: float


class Plan(NamedTuple):
    """What `run` needs to know about a node: `words` and `kinds` are those of its checks."""

    rate: float
    weights: list[float]
    kinds: list[str]
    words: list[str]


class PlantedWorld:
    """`accuracy` maps kinds of checks to the judge's errors; "*" stands for all kinds not named.

    `undecided` is the share of images on which the judge gives no usable reply; `uneven` makes its errors
    differ from word to word; `shape` is that of the landscape (`planted_landscape`).
    """

    def __init__(
        self,
        lattice: Lattice,
        regime: str = "medium",
        seed: int = 0,
        accuracy: Mapping[str, Sequence[float]] | None = None,
        undecided: float = 0.0,
        spread: str = "wide",
        shape: str = "planted",
        uneven: Sequence[float] | None = None,
    ) -> None:
        self.lattice = lattice
        self.seed = seed
        self.landscape = make_landscape(lattice, regime, seed, spread, shape)
        self.undecided = undecided
        self._accuracy = {kind: Accuracy(*pair) for kind, pair in (accuracy or {}).items()}
        self._uneven = Uneven(*uneven) if uneven else None
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
        shape: str = "planted",
        uneven: Sequence[float] | None = None,
    ) -> PlantedWorld:
        """A world over a whole corpus, from plain settings."""
        lattice = Lattice(load_corpus(corpus), depth=depth)
        return cls(lattice, regime, seed, accuracy, undecided, spread, shape, uneven)

    def moved(self, by: float, seed: int) -> PlantedWorld:
        """A world whose model was trained on: `Landscape.moved`."""
        other = copy(self)
        other.landscape, other._plans = self.landscape.moved(by, seed), {}
        return other

    # Truth

    def rate(self, node: Node) -> float:
        """The true success rate."""
        return self.landscape.rate(node)

    def judged_rate(self, node: Node) -> float:
        """The share of images that the judge lets pass: the true rate seen through its errors."""
        weights, rate = self.landscape.drop_weights(node), self.rate(node)
        named = zip(self._kinds(node), self._words(node), strict=True)
        accuracies = [self.accuracy(kind, word) for kind, word in named]
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

    def accuracy(self, kind: str, word: str = "") -> Accuracy:
        """How the judge errs on a word, or on a kind in the mean over its words."""
        mean = self._accuracy.get(kind) or self._accuracy.get("*") or Accuracy()
        if self._uneven is None or not word:
            return mean
        share, low = self._uneven
        if self.is_misread(kind, word):
            return mean._replace(sensitivity=low)
        return mean._replace(sensitivity=min(1.0, (mean.sensitivity - share * low) / (1 - share)))

    def is_misread(self, kind: str, word: str) -> bool:
        """Whether it is one of the words that an uneven judge seldom recognises."""
        if self._uneven is None:
            return False
        return luck_of(f"{self.seed}|{kind}|{word}") < self._uneven.share

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
        checks = zip(holds, plan.kinds, plan.words, strict=True)
        facts.append([self.says(held, kind, grain, word) for held, kind, word in checks])
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

    def says(self, holds: bool, kind: str, grain: int, word: str = "") -> bool:
        """What the judge says of a check that truly holds or not."""
        accuracy = self.accuracy(kind, word)
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
            weights = self.landscape.drop_weights(node)
            plan = Plan(self.rate(node), weights, self._kinds(node), self._words(node))
            self._plans[subject] = plan
        return plan

    def _kinds(self, node: Node) -> list[str]:
        return ["entity", *(self.lattice.corpus.values[value].kind for value in node.values)]

    def _words(self, node: Node) -> list[str]:
        corpus = self.lattice.corpus
        return [corpus.entities[node.entity].name, *(corpus.values[value].name for value in node.values)]

    @cached_property
    def understanding(self) -> Understanding:
        return Understanding(wording_of(self.lattice.corpus))

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
