"""Bugs found, precision, naming and cost of the classifier hunt and its peers, on equal image budgets.

python -m benchmarks.classifier planted            # 20 planted classifiers
python -m benchmarks.classifier toybox             # a real network; truth from fresh pictures
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from benchmarks.classifier_oracles import TEMPLATE, Oracle, PlantedOracle, ToyOracle
from benchmarks.classifier_peers import Claims, b2t, domino, wiles
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.simulate.classifier_world import PlantedClassifier

MARGIN = 0.05
LARGE = 0.2

Method = Callable[[Oracle, int], tuple[Claims, int]]


def failscape(oracle: Oracle, images: int, **changes: int) -> tuple[Claims, int]:
    rules = ClassifierRules(margin=MARGIN, seed=len(oracle.targets), images=images, **changes)
    hunt = ClassifierHunt(oracle.targets, TEMPLATE, oracle.corpus, rules)
    spent = 0
    while spent < images and (probes := hunt.ask(min(256, images - spent))):
        for trial in oracle.run(probes):
            hunt.tell(trial)
        spent += sum(probe.images for probe in probes)
    return {tuple(finding.subject.split("; ")) for finding in hunt.findings()}, spent


METHODS: dict[str, Method] = {
    "failscape": failscape,
    # Without fresh rates and causes, which no peer gives: what finding alone costs.
    "failscape-race": lambda oracle, images: failscape(oracle, images, confirm=0, toggles=0),
    "wiles": lambda oracle, images: (wiles(oracle, images), images),
    "b2t": lambda oracle, images: (b2t(oracle, images), images),
    "domino": lambda oracle, images: (domino(oracle, images), images),
}


class Row:
    """Sums over worlds. A bug is `held` when a true claim has its clauses, others besides them or not.

    It is `named` when they are all that is claimed.
    """

    def __init__(self) -> None:
        self.claims = self.true = self.held = self.named = self.large = self.images = 0
        self.fdps: list[float] = []
        self.seconds = 0.0

    def add(
        self, oracle: Oracle, claims: Claims, images: int, large: set[tuple[str, ...]], seconds: float
    ) -> None:
        effects = {claim: oracle.effect(claim[0], claim[1:]) for claim in claims}
        true = {claim for claim, effect in effects.items() if effect > MARGIN}
        self.claims += len(claims)
        self.true += len(true)
        self.fdps.append((len(claims) - len(true)) / max(1, len(claims)))
        self.large += len(large)
        self.named += len(large & claims)
        self.held += sum(any({*bug} <= {*claim} for claim in true) for bug in large)
        self.images += images
        self.seconds += seconds

    def cells(self) -> list[str]:
        worst = max(self.fdps, default=0.0)
        mean = sum(self.fdps) / max(1, len(self.fdps))
        per_bug = self.images / self.true if self.true else float("inf")
        return [
            str(self.claims),
            str(self.true),
            f"{mean:.1%} (worst {worst:.0%})",
            f"{self.held} of {self.large}",
            f"{self.named} of {self.large}",
            f"{per_bug:,.0f}",
            f"{self.seconds:.0f} s",
        ]


HEAD = (
    *("method", "claims", "true claims", "false share"),
    *("large bugs held", "named exactly", "images per true claim", "time"),
)


def table(rows: dict[str, Row]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *((name, *row.cells()) for name, row in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compare(oracles: Sequence[Oracle], images: int, methods: Sequence[str]) -> dict[str, Row]:
    rows = {name: Row() for name in methods}
    for number, oracle in enumerate(oracles, 1):
        large = oracle.bugs(LARGE)
        for name, row in rows.items():
            clock = time.perf_counter()
            claims, spent = METHODS[name](oracle, images)
            row.add(oracle, claims, spent, large, time.perf_counter() - clock)
            print(f"world {number} of {len(oracles)}: {name} {row.true}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("world", choices=("planted", "toybox"))
    parser.add_argument("--images", type=int, help="budget [20,000 planted, 40,000 toybox]")
    parser.add_argument("--seeds", type=int, default=20, help="how many planted classifiers")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument(
        "--plain", type=float, default=0.95, help="share of pictures without a given kind of oddity, unasked"
    )
    parser.add_argument("--classifier", default="cnn", help="cnn, resnet or vit")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    arguments = parser.parse_args()
    if arguments.world == "planted":
        oracles: list[Oracle] = [
            PlantedOracle(PlantedClassifier(classes=12, bugs=2, seed=seed, plain=arguments.plain))
            for seed in range(arguments.first, arguments.first + arguments.seeds)
        ]
    else:
        oracles = [ToyOracle(arguments.classifier)]
    images = arguments.images or (20_000 if arguments.world == "planted" else 40_000)
    print(table(compare(oracles, images, arguments.methods)))


if __name__ == "__main__":
    main()
