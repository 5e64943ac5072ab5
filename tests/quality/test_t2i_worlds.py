"""What every honest t2i search gives back, in models that always fail at some things and never at others.

Claims never vanish without a reason, and a hunt does not end with questions that images could answer. How
searches fare in worlds of other shapes is in `benchmarks/campaign/t2i.py`.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from benchmarks.campaign.t2i import make_config

from failscape.kinds.t2i.build import build_hunt, build_lattice
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.trials import Probe
from tests.quality.sure_worlds import play, told

TWO_VALUES = {
    "corpus": "toybox",
    "entities": ["car", "owl", "apple", "cow"],
    "families": ["Base"],
    "depth": 2,
}
ONE_VALUE = {**TWO_VALUES, "depth": 1}


@pytest.mark.parametrize("strategy", ["certified", "listed"])
def test_where_everything_fails_entities_are_claimed_and_nothing_below_them(strategy: str) -> None:
    hunt = build_hunt(make_config(strategy, 400, 1, TWO_VALUES))
    play(hunt, lambda subject: True, 400)
    assert {finding.subject for finding in hunt.findings()} == {"car", "owl", "apple", "cow"}


@pytest.mark.parametrize("strategy", ["certified", "listed"])
def test_a_pair_of_values_that_fails_is_not_said_of_one_of_them(strategy: str) -> None:
    """Red cars and large cars are fine; no large red car ever is."""
    space = {**TWO_VALUES, "entities": ["car"]}
    lattice = build_lattice(make_config(strategy, 1, 1, space))
    pair = lattice.subject(next(iter(lattice.nodes(2))))
    parts = set(pair.split("; "))
    hunt = build_hunt(make_config(strategy, 3_000, 1, space))
    play(hunt, lambda subject: parts <= set(subject.split("; ")), 3_000)
    assert {finding.subject for finding in hunt.findings()} <= {pair}


@pytest.mark.parametrize("seed", range(3))
def test_a_hunt_that_ends_early_leaves_nothing_open(seed: int) -> None:
    """Everything pink fails. If images are left at the end, all of that is claimed and nothing is suspect."""

    def fails(subject: str) -> bool:
        return "pink" in subject

    config = make_config("listed", 4_000, seed, ONE_VALUE)
    lattice = build_lattice(config)
    hunt = build_hunt(config)
    spent = play(hunt, fails, 4_000)
    pink = {subject for subject in map(lattice.subject, lattice.nodes(1)) if fails(subject)}
    assert pink
    assert {finding.subject for finding in hunt.findings()} == pink
    assert hunt.suspects() == []
    assert spent == 4_000 or hunt.notices(), "it says why it ended"


@pytest.mark.parametrize("seed", range(2))
def test_a_claim_goes_only_after_new_images_of_it_or_of_what_lies_above(seed: int) -> None:
    """Rates near the threshold, answers out of order: claims come and go."""
    config = make_config("listed", 1_200, seed)
    world = PlantedWorld(build_lattice(config), "medium", seed, shape="near-miss")
    hunt = build_hunt(config)
    images: Counter[str] = Counter()
    shown: dict[str, int] = {}

    class Watching:
        def run(self, probe):  # type: ignore[no-untyped-def]
            images[probe.subject] += 1
            return world.run(probe)

    def look(spent: int) -> None:
        if spent % 100:
            return
        now = {finding.subject for finding in hunt.findings()}
        for subject in shown.keys() - now:
            assert sum(images[one] for one in with_ancestors(subject)) > shown[subject], subject
        shown.clear()
        shown.update({subject: sum(images[one] for one in with_ancestors(subject)) for subject in now})

    simulate(hunt, Watching(), 1_200, shuffle=seed, after=look)  # type: ignore[arg-type]
    assert shown


def with_ancestors(subject: str) -> list[str]:
    """The subject, and those with fewer of its values."""
    entity, *values = subject.split("; ")
    some = [chosen for size in range(len(values) + 1) for chosen in combinations(values, size)]
    return ["; ".join([entity, *chosen]) for chosen in some]


@pytest.mark.parametrize("at_once", [1, 8, 64])
@pytest.mark.parametrize("seed", range(4))
def test_no_suspect_that_surely_fails_starves_for_images_of_its_parent(seed: int, at_once: int) -> None:
    """The first example of docs/python.md. With 64 in flight and answers one by one, 79 images went to what
    was proven long ago, and 12 to the parent that its claim rests on."""
    space = {"corpus": "toybox", "entities": ["car", "owl"], "depth": 1}
    hunt = build_hunt(make_config("listed", 400, seed, space))
    pending = list[Probe]()
    asked = 0
    while True:
        new = hunt.ask(min(64 - len(pending), 400 - asked))
        asked += len(new)
        pending += new
        if not pending:
            break
        for probe in pending[:at_once]:
            hunt.tell(told(probe, "pink" not in probe.subject))
        pending = pending[at_once:]
    found = {finding.subject for finding in hunt.findings()}
    assert {"owl; Base: colour=pink", "car; Base: colour=pink"} <= found
    assert [one.subject for one in hunt.suspects() if one.details.claim.posterior > 0.95] == []
