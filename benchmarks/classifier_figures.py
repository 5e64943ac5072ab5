"""How many planted bugs the classifier hunt names exactly, by situation, and how many claims are false.

python -m benchmarks.classifier_figures                     # all situations, 8 seeds each
python -m benchmarks.classifier_figures pairs --seeds 16 --log figures.jsonl

A world takes half a minute to two; each is written to `--log` when it is done, and not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.classifier_oracles import TEMPLATE
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.simulate.classifier_world import PlantedClassifier

MARGIN = 0.05

#: Bugs of this effect and more are counted apart: classes with a high baseline leave planted rates of 22 to
#: 26 % an effect of 12 points, which no budget here can prove.
LARGE = 0.18


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


def measure(situation: Situation, seed: int) -> Counter[str]:
    """What came of one world, all of it numbers that add up over worlds."""
    clock = time.process_time()
    world = PlantedClassifier(classes=8, seed=seed, **situation.world)
    hunt, images = hunted(world, situation)
    seconds = time.process_time() - clock
    claims = {tuple(test.subject.split("; ")) for test in hunt.record.bugs()}
    planted = {(bug.name, *sorted(bug.values)) for bug in world.bugs}
    large = {bug for bug in planted if world.effect(bug[0], bug[1:]) >= LARGE}
    known = {claim: [one for one in claim[1:] if not one.startswith("Said=")] for claim in claims}
    false = sum(world.effect(claim[0], labels) <= MARGIN for claim, labels in known.items())
    return Counter(
        planted=len(planted),
        named=len(planted & claims),
        large=len(large),
        large_named=len(large & claims),
        claimed=len(claims),
        false=false,
        images=images,
        milliseconds=round(1000 * seconds),
    )


def recorded(log: Path | None) -> dict[tuple[str, int], Counter[str]]:
    if log is None or not log.exists():
        return {}
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {(row.pop("situation"), row.pop("seed")): Counter(row) for row in rows}


def measured(name: str, seed: int, log: Path | None) -> Counter[str]:
    known = recorded(log).get((name, seed))
    if known is not None:
        return known
    found = measure(SITUATIONS[name], seed)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            print(json.dumps({"situation": name, "seed": seed, **found}), file=file)
    return found


def line_of(situation: Situation, worlds: Sequence[Counter[str]]) -> str:
    total = sum(worlds, Counter[str]())
    cells = (
        situation.about,
        f"{situation.images:,}",
        f"{total['named'] / total['planted']:.0%} ({total['named']} of {total['planted']})",
        f"{total['large_named'] / total['large']:.0%} ({total['large_named']} of {total['large']})",
        f"{total['false']} of {total['claimed']}",
        f"{total['milliseconds'] / total['images']:.2f} ms",
    )
    return f"| {' | '.join(cells)} |"


HEAD = """| situation | images | named exactly | of 18 points and more | false claims | time an image |
|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("situations", nargs="*", help=f"any of {', '.join(SITUATIONS)}; all unless given")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=2, help="0 and 1 were used while the hunt was made")
    parser.add_argument("--log", type=Path, help="a file that keeps what was measured")
    asked = parser.parse_args()
    print(HEAD)
    for name in asked.situations or SITUATIONS:
        seeds = range(asked.first, asked.first + asked.seeds)
        worlds = [measured(name, seed, asked.log) for seed in seeds]
        print(line_of(SITUATIONS[name], worlds), flush=True)


if __name__ == "__main__":
    main()
