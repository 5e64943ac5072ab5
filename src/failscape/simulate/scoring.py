"""Scores a hunt against a planted world, over time: which of its claims are true, and what they cost.

A claim is a finding. It is truly failing when its true rate is below the threshold, and truly minimal when
no ancestor's is. A finding whose `details` say `minimal: false` claims only to be failing.

Runs a hunt against a planted world at full speed: ask, outcome, tell; no I/O and no clock.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from failscape.search.protocol import Hunt
from failscape.simulate.t2i_world import PlantedWorld
from failscape.spaces.lattice import Node
from failscape.trials import Finding, Probe, Trial


@dataclass(slots=True)
class Simulated:
    """What a simulation did. `in_flight` holds the probes that were asked for and never told."""

    images: int = 0
    trials: list[Trial] = field(default_factory=list)
    in_flight: list[Probe] = field(default_factory=list)


def simulate(
    hunt: Hunt,
    world: PlantedWorld,
    images: int,
    in_flight: int = 64,
    shuffle: int | None = None,
    keep: bool = False,
    after: Callable[[int], None] | None = None,
) -> Simulated:
    """Spend up to `images` images, keeping up to `in_flight` probes under way.

    Trials come back in the order asked for, or in an order shuffled by the seed `shuffle`, as with real
    servers. `keep` collects the trials; `after` is called with the number of images after every trial.
    """
    order = None if shuffle is None else random.Random(shuffle)
    done, flying = Simulated(), list[Probe]()
    while done.images < images:
        if len(flying) < in_flight:
            flying += hunt.ask(min(in_flight - len(flying), images - done.images - len(flying)))
        if not flying:
            break
        probe = flying.pop(order.randrange(len(flying)) if order else 0)
        trial = world.run(probe)
        hunt.tell(trial)
        done.images += probe.images
        if keep:
            done.trials.append(trial)
        if after:
            after(done.images)
    done.in_flight = flying
    return done


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a hunt claimed after so many images, and how much of it is true."""

    images: int
    claims: int = 0
    failing: int = 0
    minimal_claims: int = 0
    minimal: int = 0

    @property
    def not_failing(self) -> float:
        """The share of claims that do not fail."""
        return 1 - self.failing / self.claims if self.claims else 0.0

    @property
    def not_minimal(self) -> float:
        return 1 - self.minimal / self.minimal_claims if self.minimal_claims else 0.0


@dataclass(slots=True)
class Watched:
    """`seconds` is the CPU time of `ask` and `tell` alone: the world and the scoring are left out."""

    checkpoints: list[Checkpoint] = field(default_factory=list)
    images: int = 0
    seconds: float = 0.0

    @property
    def last(self) -> Checkpoint:
        return self.checkpoints[-1]

    def worst(self, claims: int = 50) -> tuple[float, float]:
        """The largest shares not failing and not minimal, at checkpoints with at least so many claims."""
        return (
            max((c.not_failing for c in self.checkpoints if c.claims >= claims), default=0.0),
            max((c.not_minimal for c in self.checkpoints if c.minimal_claims >= claims), default=0.0),
        )


class Judged(Protocol):
    """A model whose truth is known: it answers probes, and says which claims are true."""

    def run(self, probes: Sequence[Probe]) -> list[Trial]: ...

    def score(self, images: int, findings: list[Finding]) -> Checkpoint: ...


class Truth:
    """What is true in a world at a threshold. Lists every node once, so the world must not be huge."""

    def __init__(self, world: PlantedWorld, threshold: float = 0.8) -> None:
        self.world = world
        self.threshold = threshold

    @cached_property
    def minimal(self) -> dict[Node, float]:
        return self.world.minimal_failures(self.threshold)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Of the minimal failures."""
        return frozenset(map(self.world.lattice.subject, self.minimal))

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        return [self.world.run(probe) for probe in probes]

    def score(self, images: int, findings: list[Finding]) -> Checkpoint:
        return score_claims(images, findings, self.fails, self.subjects.__contains__)

    def fails(self, subject: str) -> bool:
        return subject in self.subjects or self.world.plan(subject).rate < self.threshold

    def pruned(self, findings: list[Finding]) -> float:
        """The share of all minimal failures that lie below a (then false) claim: they will not be opened."""
        parse = self.world.lattice.parse
        claimed = {parse(finding.subject) for finding in findings if not self.fails(finding.subject)}
        lost = sum(
            any(above in claimed for above in self.world.lattice.ancestors(node)) for node in self.minimal
        )
        return lost / len(self.minimal) if self.minimal else 0.0


def score_claims(
    images: int, findings: list[Finding], fails: Callable[[str], bool], is_minimal: Callable[[str], bool]
) -> Checkpoint:
    smallest = [finding.subject for finding in findings if finding.details_data.get("minimal", True)]
    return Checkpoint(
        images,
        len(findings),
        sum(fails(finding.subject) for finding in findings),
        len(smallest),
        sum(map(is_minimal, smallest)),
    )


def watch(
    hunt: Hunt, truth: Judged, images: int, in_flight: int = 64, checkpoints: int = 50, shuffle: int = 0
) -> Watched:
    """Spend `images` on a hunt, with answers out of order, scoring it at evenly spread `checkpoints`."""
    order, watched, flying = random.Random(shuffle), Watched(), list[Probe]()
    clock = time.process_time
    marks = [images * number // checkpoints for number in range(1, checkpoints + 1)]
    for mark in marks:
        while watched.images < mark:
            started = clock()
            room = min(in_flight - len(flying), images - watched.images - len(flying))
            flying += hunt.ask(room) if room > 0 else []
            watched.seconds += clock() - started
            order.shuffle(flying)
            size = min(max(1, in_flight // 4), len(flying), mark - watched.images)
            answered, flying = flying[:size], flying[size:]
            if not answered:
                break
            trials = truth.run(answered)
            started = clock()
            for trial in trials:
                hunt.tell(trial)
            watched.seconds += clock() - started
            watched.images += size
        watched.checkpoints.append(truth.score(watched.images, hunt.findings()))
    return watched
