"""Planted worlds of two things: a painter whose weaknesses with pairs are drawn at random and known exactly.

Scenes are made and judged as the toybox does it, without drawing them. Every node has an exact success rate,
so that the minimal failures can be listed and a hunt marked against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from failscape.search.protocol import Hunt
from failscape.simulate.scoring import Checkpoint, score_claims, watch
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Node
from failscape.spaces.pair_wording import wording_of
from failscape.spaces.pairs import PairLattice, pair_lattice
from failscape.toybox.pair_painter import (
    MISTAKEN_FOR,
    Mistake,
    Weakness,
    decide_checks,
    paint_scene,
    success_rate,
    understand,
)
from failscape.toybox.world import COLOURS, ENTITIES
from failscape.trials import Decide, Finding, Generate, Probe, Trial, reach_verdict

RELATIONS = ("left of", "right of", "above", "below", "larger than")
_MISTAKES: tuple[Mistake, ...] = (
    "swap colours",
    "opposite relation",
    "drop second",
    "merge",
    "mistake first",
)


class PairWorld:
    """A painter with some weaknesses, over eight things of the toybox."""

    def __init__(self, seed: int, things: int = 8, weaknesses: int = 6, depth: int = 2) -> None:
        rng = np.random.default_rng([seed, 32])
        names = [name for name in ENTITIES if name != MISTAKEN_FOR]
        self.things = tuple(str(name) for name in rng.choice(names, things, replace=False))
        self.lattice: PairLattice = pair_lattice(
            load_corpus("toybox"), self.things, ("Base",), depth, RELATIONS
        )
        self.wording = wording_of(self.lattice.corpus)
        self.weaknesses = tuple(
            weakness
            for number in range(weaknesses)
            for weakness in self._draw(rng, _MISTAKES[number % len(_MISTAKES)])
        )

    def _draw(self, rng: np.random.Generator, mistake: Mistake) -> tuple[Weakness, ...]:
        """One weakness with a rate of failure that is worth finding. A mistaken thing is so everywhere."""
        rate = float(rng.uniform(0.45, 0.95))
        some = tuple(str(name) for name in rng.choice(self.things, 2, replace=False))
        if mistake == "swap colours":
            first, second = rng.choice(COLOURS, 2, replace=False)
            return (Weakness(mistake, rate, colours=(str(first), str(second))),)
        if mistake == "opposite relation":
            relation = str(rng.choice(["left of", "right of", "above", "below"]))
            return (Weakness(mistake, rate, first=some, relation=relation),)
        if mistake == "mistake first":
            alone = some[:1]
            return Weakness(mistake, rate, first=alone), Weakness("mistake second", rate, second=alone)
        return (Weakness(mistake, rate, first=some[:1], second=some[1:]),)

    def rate(self, node: Node) -> float:
        """The true success rate of a node."""
        asked = understand(self.wording.caption(node))
        if asked is None:
            raise AssertionError(f"the painter does not understand {self.wording.caption(node)!r}")
        return success_rate(asked, self.weaknesses)

    def minimal_failures(self, threshold: float = 0.8) -> dict[str, float]:
        """Subject → true rate of every node below the threshold none of whose ancestors is."""
        failing: set[Node] = set()
        found: dict[str, float] = {}
        for layer in range(self.lattice.depth + 1):
            for node in self.lattice.nodes(layer):
                rate = self.rate(node)
                if rate < threshold:
                    failing.add(node)
                    if not failing.intersection(self.lattice.ancestors(node)):
                        found[self.lattice.subject(node)] = rate
        return found

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        return [self._trial(probe) for probe in probes]

    def score(self, images: int, findings: list[Finding]) -> Checkpoint:
        """Claims held against the truth."""
        minimal = self.minimal_failures()
        return score_claims(images, findings, self.fails, minimal.__contains__)

    def fails(self, subject: str, threshold: float = 0.8) -> bool:
        return self.rate(self.lattice.parse(subject)) < threshold

    def _trial(self, probe: Probe) -> Trial:
        draw, decide = probe.steps
        assert isinstance(draw, Generate)
        assert isinstance(decide, Decide)
        scene = paint_scene(draw.prompt, probe.seed, self.weaknesses)
        assert scene is not None
        facts = ["", decide_checks(scene, decide.checks)]
        verdict, reason = reach_verdict(probe.steps, facts)
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)


@dataclass(frozen=True, slots=True)
class PairMark:
    """How a hunt did in one world: claims, those that fail, those that are minimal, and what there was."""

    seed: int
    claims: int
    failing: int
    minimal: int
    planted: int


def mark_pairs(world: PairWorld, hunt: Hunt, images: int, seed: int) -> PairMark:
    """Spend `images` on a hunt of the world's lattice and hold its claims against the truth."""
    found = watch(hunt, world, images, checkpoints=1).checkpoints[-1]
    return PairMark(seed, found.claims, found.failing, found.minimal, len(world.minimal_failures()))
