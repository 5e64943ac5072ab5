"""Small t2i worlds with set success rates: a few values of one entity, and groups that fail as a whole."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from benchmarks.campaign.measurements import Measurement, at_least, at_most, just
from benchmarks.campaign.t2i import corpus, make_config
from failscape.kinds.t2i.build import build_hunt, build_lattice
from failscape.search.protocol import Hunt
from failscape.spaces import Lattice
from failscape.trials import Probe, Trial, Verdict


def play(hunt: Hunt, rate: Callable[[str], float], images: int, seed: int) -> int:
    """Spend up to `images`: a subject passes with the chance `rate`. Says how many were spent."""
    spent = 0
    while spent < images and (probes := hunt.ask(min(16, images - spent))):
        for probe in probes:
            hunt.tell(answer(probe, rate(probe.subject), seed))
        spent += len(probes)
    return spent


def answer(probe: Probe, rate: float, seed: int) -> Trial:
    """The trial of a probe that passes with the chance `rate`; all its checks hold, or none does."""
    passed = random.Random(f"{seed}|{probe.key}").random() < rate
    checks = len(probe.subject.split("; "))
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return Trial(probe.key, probe.subject, verdict, "", ["image", [passed] * checks], probe.seed)


ONE_ENTITY = {"corpus": "starter", "entities": ["cat"], "families": ["Image"], "depth": 1}


def one_entity() -> Iterator[Measurement]:
    """The entity passes at .88; six values lie at least 15 points below the threshold. 1,500 images."""
    for strategy in ("certified", "listed"):
        missed = 0
        for seed in range(3):
            config = make_config(strategy, 1_500, seed, ONE_ENTITY)
            lattice = build_lattice(config)
            values = [lattice.subject(node) for node in lattice.nodes(1)]
            failing = dict(zip(values, (0.27, 0.35, 0.45, 0.5, 0.58, 0.65), strict=False))
            rates = {"cat": 0.88} | failing
            hunt = build_hunt(config)
            play(hunt, lambda subject, rates=rates: rates.get(subject, 0.95), 1_500, seed)  # type: ignore[misc]
            missed += len(failing.keys() - {finding.subject for finding in hunt.findings()})
        yield at_most(f"{strategy}: failing values of 18 that are not claimed", missed, 1)


class GroupFailures:
    """One value fails with everything, one with a class but for one entity; a third fails with one entity in
    three, so that no group of it does as a whole; all else works."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice

    def rate(self, subject: str) -> float:
        node = self.lattice.parse(subject)
        entity = self.lattice.corpus.entities[node.entity]
        first = self.lattice.corpus.entities[0]
        spared = entity.upper_class != first.upper_class or entity.name == first.name
        never = 0 in node.values or (1 in node.values and not spared)
        return 0.05 if never or (2 in node.values and node.entity % 3 == 0) else 0.95


def groups() -> Iterator[Measurement]:
    """120 entities, 10 values, 2,500 images: groups that fail as a whole are rules, and no others are."""
    claimed, false, whole = 0, 0, 0
    known_shares = []
    for seed in range(3):
        config = make_config("listed", 2_500, seed, {"corpus": corpus(120, 10, 1_200), "depth": 1})
        lattice = build_lattice(config)
        world = GroupFailures(lattice)
        hunt = build_hunt(config)
        play(hunt, world.rate, 2_500, seed)
        for group in hunt.groups.claimed:  # type: ignore[attr-defined]
            failing = [world.rate(lattice.subject(hunt.node_of(key))) < 0.8 for key in group.cases()]  # type: ignore[attr-defined]
            claimed += 1
            false += sum(failing) <= len(failing) / 2 or sum(failing) < 0.9 * group.at_least * len(failing)
        whole += any(group.code.values == (0,) and group.code.scope == 2 for group in hunt.groups.claimed)  # type: ignore[attr-defined]
        known = {lattice.subject(hunt.node_of(key)) for key in hunt.rules()}  # type: ignore[attr-defined]
        known |= {finding.subject for finding in hunt.findings()}
        failing_members = {
            subject for subject in map(lattice.subject, lattice.nodes(1)) if world.rate(subject) < 0.8
        }
        known_shares.append(len(known & failing_members) / len(failing_members))
    yield just("groups that are claimed, 3 hunts", claimed)
    yield at_most("of these, groups that fail in fewer members than they say", false, 0)
    yield at_least("hunts of 3 where a value that never works is one rule", whole, 3)
    yield at_least("least share of failing members that is known", min(known_shares), 0.9)
