"""The ranges of a plan hold what runs find, in worlds that the plan has not seen."""

from __future__ import annotations

import pytest

from failscape.config.files import parse_config
from failscape.hunts.t2i.build import build_hunt, build_lattice
from failscape.hunts.t2i.config import T2IConfig
from failscape.planning.t2i import expect
from failscape.testing.planted import PlantedWorld, simulate

THINGS = ("penguin", "camel", "owl", "turtle", "apple", "cupcake", "palm tree", "car", "boat", "umbrella")
WORLDS = range(100, 104)
"""Other seeds than a plan simulates."""


def config(images: int) -> T2IConfig:
    toy = {"provider": "toybox"}
    space = {"corpus": "toybox", "entities": THINGS, "depth": 2}
    data = {"hunt": "t2i", "target": toy, "judge": toy, "space": space, "budget": {"images": images}}
    settings = parse_config(data, "a test")
    assert isinstance(settings, T2IConfig)
    return settings


@pytest.mark.parametrize("scaled", [False, True], ids=["whole", "scaled up from a part"])
def test_ranges_hold_the_truth_in_four_of_five_worlds(scaled: bool) -> None:
    settings = config(500)
    lattice, inside, outside = build_lattice(settings), 0, list[str]()
    for regime in ("weak", "medium", "strong"):
        said = expect(settings, lattice, 500, regime, None, worlds=1, most=300 if scaled else 500)
        for seed in WORLDS:
            hunt = build_hunt(settings)
            simulate(hunt, PlantedWorld(lattice, regime, seed), 500)
            found = len(hunt.findings())
            inside += said.low <= found <= said.high
            outside += [] if said.low <= found <= said.high else [f"{regime}: {found} not in {said}"]
    assert inside >= 0.8 * (inside + len(outside)), outside
