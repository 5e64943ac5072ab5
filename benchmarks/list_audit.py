"""Do the bounds of list audits hold? Whole hunts in planted worlds, each with an audit of its list.

    python -m benchmarks.list_audit --hunts 200

Says for every shape of world in how many hunts the share of the list that truly fails, and that is truly
minimal, is at least what the audit says, and what the audits say on average.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.t2i.survey.list_audit import AuditCase
from failscape.simulate.planted import SHAPES, PlantedWorld, simulate
from failscape.simulate.scoring import Truth
from failscape.spaces import Lattice, Wording, load_corpus

REGIMES = ("weak", "medium", "strong")


@dataclass(slots=True)
class AuditedHunts:
    """Sums over hunts: whose bounds hold, what is true, what is shown, and how many findings and images."""

    hunts: int = 0
    failing_holds: int = 0
    minimal_holds: int = 0
    both_hold: int = 0
    findings: int = 0
    images: int = 0
    shown: list[float] = field(default_factory=list)
    true: list[float] = field(default_factory=list)
    shown_minimal: list[float] = field(default_factory=list)
    true_minimal: list[float] = field(default_factory=list)

    def add(self, hunt: CertifiedHunt, cases: list[AuditCase], truth: Truth) -> None:
        found = hunt.survey().list_audit
        if found is None or not cases:
            return
        whole = found.parts[-1]
        failing = sum(truth.fails(case.subject) for case in cases) / len(cases)
        minimal = sum(case.subject in truth.subjects for case in cases) / len(cases)
        least = whole.minimal_at_least or 0.0
        self.hunts += 1
        self.failing_holds += whole.failing_at_least <= failing
        self.minimal_holds += least <= minimal
        self.both_hold += whole.failing_at_least <= failing and least <= minimal
        self.findings += found.findings
        self.images += found.images
        self.shown.append(whole.failing_at_least)
        self.true.append(failing)
        self.shown_minimal.append(least)
        self.true_minimal.append(minimal)

    def row(self, name: str) -> str:
        hunts = max(self.hunts, 1)
        shares = [
            sum(some) / hunts for some in (self.shown, self.true, self.shown_minimal, self.true_minimal)
        ]
        numbers = (self.hunts, self.both_hold, self.failing_holds, self.minimal_holds)
        counts = " | ".join(map(str, (*numbers, self.findings // hunts, self.images // hunts)))
        return f"| {name} | {counts} | {' | '.join(f'{share:.0%}' for share in shares)} |"


def run(number: int, shape: str, images: int, share: float) -> tuple[CertifiedHunt, list[AuditCase], Truth]:
    lattice = Lattice(load_corpus("starter"), entities="sample", depth=2)
    world = PlantedWorld(lattice, REGIMES[number % len(REGIMES)], seed=number, shape=shape)
    settings = CertifiedSettings(images=images, strategy="listed", audit=share)
    hunt = CertifiedHunt(lattice, Wording(lattice.corpus), settings, seed=number)
    simulate(hunt, world, images, shuffle=number)
    return hunt, hunt.unguided.audit.cases, Truth(world)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hunts", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--images", type=int, default=4_000)
    parser.add_argument("--audit", type=float, default=0.1)
    chosen = parser.parse_args()
    shapes = list(SHAPES)
    by_shape = {shape: AuditedHunts() for shape in shapes}
    for number in range(chosen.first, chosen.first + chosen.hunts):
        shape = shapes[number % len(shapes)]
        by_shape[shape].add(*run(number, shape, chosen.images, chosen.audit))
    print(
        "| shape | hunts | both hold | failing holds | minimal holds | findings | audit images "
        "| ≥ fail | truly fail | ≥ minimal | truly minimal |"
    )
    print("|" + "---|" * 11)
    for shape, sums in by_shape.items():
        print(sums.row(shape))


if __name__ == "__main__":
    main()
