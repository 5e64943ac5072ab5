"""The classifier hunt against planted classifiers: are claims true, and are bugs named?"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.campaign.measurements import Measurement, at_least, at_most, few_of, just
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.prompts import Template
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.simulate.scoring import simulate

TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")


def hunted(
    world: PlantedClassifier,
    images: int,
    margin: float = 0.05,
    slip: float = 0.0,
    sees: bool = False,
) -> ClassifierHunt:
    """A whole hunt in a planted world; `sees`: the judge says which clauses a picture obeys."""
    rules = ClassifierRules(seed=world.seed, images=images, toggles=0, confirm=20, margin=margin, slip=slip)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules, sees=sees)
    simulate(hunt, world, images, in_flight=256, shuffle=world.seed)  # type: ignore[arg-type]
    return hunt


def named_bugs(world: PlantedClassifier, hunt: ClassifierHunt) -> int:
    planted = {"; ".join([bug.name, *sorted(bug.values)]) for bug in world.bugs}
    return len(planted & {finding.subject for finding in hunt.findings()})


def single_facts() -> Iterator[Measurement]:
    """Two bugs a class, each on one value."""
    claims, false, large, named = 0, 0, 0, 0
    for seed in range(20):
        world = PlantedClassifier(classes=3, bugs=2, seed=seed, plain=0.9)
        found = {tuple(finding.subject.split("; ")) for finding in hunted(world, 4_000).findings()}
        claims += len(found)
        false += sum(world.effect(claim[0], claim[1:]) <= 0.05 for claim in found)
        bugs = {(bug.name, *bug.values) for bug in world.bugs if world.effect(bug.name, bug.values) >= 0.2}
        large += len(bugs)
        named += len(bugs & found)
    yield few_of("claims whose effect is at most the margin", false, claims, 0.05)
    yield just("bugs of at least 20 points", large)
    yield at_least("share of these that is named exactly", named / large, 0.9)


def below_the_margin() -> Iterator[Measurement]:
    """The hardest nulls: every planted excess is real, but too small."""
    claims = 0
    for seed in range(8):
        world = PlantedClassifier(classes=3, bugs=6, seed=seed, rates=(0.12, 0.15), plain=0.95)
        claims += len(hunted(world, 4_000, margin=0.14).findings())
    yield at_most("claims in 8 worlds whose effects are below the margin", claims, 1)


def leaky_presence_check() -> Iterator[Measurement]:
    """One picture in four is empty, the judge lets a third of those pass, and the hunt was told so."""
    claims = 0
    for seed in range(5):
        world = PlantedClassifier(classes=3, bugs=0, seed=seed, absent=0.25, slip=0.33)
        claims += len(hunted(world, 3_000, slip=0.33).findings())
    yield at_most("claims in 5 worlds without bugs", claims, 1)


def pairs_of_facts() -> Iterator[Measurement]:
    """Two facts at once."""
    named, planted = 0, 0
    for seed in range(4):
        world = PlantedClassifier(classes=3, bugs=0, pairs=3, seed=seed, rates=(0.5, 0.9), plain=0.95)
        planted += len(world.bugs)
        named += named_bugs(world, hunted(world, 4_500))
    yield just("planted pairs", planted)
    yield at_least("share that is named", named / planted, 0.6)


def disobeyed_clauses() -> Iterator[Measurement]:
    """The generator obeys two clauses of five; the judge sees which. If it is ignored, effects are small."""
    seeing, blind, planted = 0, 0, 0
    for seed in range(4):
        world = PlantedClassifier(classes=3, bugs=3, seed=seed, rates=(0.35, 0.45), plain=0.97, obeys=0.4)
        planted += len(world.bugs)
        seeing += named_bugs(world, hunted(world, 6_000, sees=True))
        blind += named_bugs(world, hunted(world, 6_000))
    yield just("planted bugs", planted)
    yield at_least("share that is named with a judge of clauses", seeing / planted, 0.6)
    yield just("share that is named without one", blind / planted)
