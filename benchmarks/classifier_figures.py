"""How many planted bugs the classifier hunt names exactly, by situation, and how many claims are false.

python -m benchmarks.classifier_figures                     # all situations, 8 seeds each
python -m benchmarks.classifier_figures pairs --seeds 16
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.classifier_oracles import TEMPLATE
from failscape.hunts.classifier.hunt import ClassifierHunt
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.testing.planted_classifier import PlantedClassifier

MARGIN = 0.05


@dataclass(frozen=True)
class Situation:
    """A world of 8 classes with 4 bugs each, the images, and what the hunt is told of its judge."""

    about: str
    world: dict[str, Any]
    images: int = 12_000
    rules: dict[str, Any] = field(default_factory=dict)


SITUATIONS = {
    "single": Situation("one fact", {"bugs": 4, "plain": 0.95}),
    "pairs": Situation("two facts at once", {"bugs": 0, "pairs": 4, "plain": 0.95}),
    "rare": Situation(
        "rare attributes (1 % unasked), general corpus", {"bugs": 4, "plain": 0.99, "corpus": "general"}
    ),
    "omits": Situation(
        "the captioner omits the cause, general corpus",
        {"bugs": 4, "plain": 0.95, "corpus": "general", "omits": True},
    ),
    "judge": Situation(
        "the judge errs in 10 %, as measured",
        {"bugs": 4, "plain": 0.95, "errs": 0.1, "slip": 0.1},
        rules={"slip": 0.1, "sensitivity": 0.92},
    ),
    "obeys": Situation(
        "60 % of clauses are obeyed, bugs of 20 points",
        {"bugs": 4, "plain": 0.95, "obeys": 0.6, "rates": (0.22, 0.26)},
        images=20_000,
    ),
}


def hunted(world: PlantedClassifier, situation: Situation, **changes: Any) -> tuple[ClassifierHunt, int]:
    rules = ClassifierRules(seed=world.seed, images=situation.images, **{**situation.rules, **changes})
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)
    images = 0
    while probes := hunt.ask(256):
        for probe in probes:
            hunt.tell(world.run(probe))
            images += probe.images
    return hunt, images


def measure(situation: Situation, seeds: int) -> tuple[str, ...]:
    planted_bugs = named = claimed = false = images = 0
    clock = time.process_time()
    for seed in range(seeds):
        world = PlantedClassifier(classes=8, seed=seed, **situation.world)
        hunt, drawn = hunted(world, situation)
        claims = {tuple(arm.subject.split("; ")) for arm in hunt.arena.bugs()}
        planted = {(bug.name, *sorted(bug.values)) for bug in world.bugs}
        known = {claim: [one for one in claim[1:] if not one.startswith("Said=")] for claim in claims}
        false += sum(world.effect(claim[0], labels) <= MARGIN for claim, labels in known.items())
        planted_bugs, named = planted_bugs + len(planted), named + len(planted & claims)
        claimed, images = claimed + len(claims), images + drawn
    cost = 1000 * (time.process_time() - clock) / images
    return (
        situation.about,
        f"{situation.images:,}",
        f"{named / planted_bugs:.0%} of {planted_bugs}",
        f"{false} of {claimed}",
        f"{cost:.2f} ms",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("situations", nargs="*", help=f"any of {', '.join(SITUATIONS)}; all unless given")
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    print("| situation | images | named exactly | false claims | time an image, world included |")
    print("|---|---|---|---|---|")
    for name in arguments.situations or SITUATIONS:
        print(f"| {' | '.join(measure(SITUATIONS[name], arguments.seeds))} |", flush=True)


if __name__ == "__main__":
    main()
