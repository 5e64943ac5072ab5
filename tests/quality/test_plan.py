"""The ranges of a plan hold what runs find, in worlds that the plan has not seen."""

from __future__ import annotations

import pytest

from failscape.config.files import parse_config
from failscape.hunts.t2i.build import build_hunt, build_lattice
from failscape.hunts.t2i.config import T2IConfig
from failscape.planning.t2i import expect
from failscape.testing.planted import PlantedWorld, simulate

THINGS = (
    *("penguin", "camel", "owl", "turtle", "apple", "cupcake", "palm tree", "car", "boat", "umbrella"),
    *("cow", "crab", "banana", "guitar", "clock"),
)


def config(images: int, things: int) -> T2IConfig:
    toy = {"provider": "toybox"}
    space = {"corpus": "toybox", "entities": THINGS[:things], "depth": 2}
    data = {"hunt": "t2i", "target": toy, "judge": toy, "space": space, "budget": {"images": images}}
    settings = parse_config(data, "a test")
    assert isinstance(settings, T2IConfig)
    return settings


@pytest.mark.parametrize(
    ("images", "things", "simulated", "seeds"),
    [(500, 10, 500, range(100, 104)), (1500, 15, 900, range(100, 103))],
    ids=["whole", "scaled up from a part"],
)
def test_ranges_hold_the_truth_in_four_of_five_worlds(
    images: int, things: int, simulated: int, seeds: range
) -> None:
    """Seeds are others than a plan simulates. In use a part has 3,000 images: smaller ones say less."""
    settings = config(images, things)
    lattice, inside, outside = build_lattice(settings), 0, list[str]()
    for regime in ("weak", "medium", "strong"):
        said = expect(
            settings, lattice, images, regime, None, worlds=3 if images == simulated else 1, most=simulated
        )
        for seed in seeds:
            hunt = build_hunt(settings)
            simulate(hunt, PlantedWorld(lattice, regime, seed), images)
            found = len(hunt.findings())
            inside += said.low <= found <= said.high
            outside += [] if said.low <= found <= said.high else [f"{regime}: {found} not in {said}"]
    assert inside >= 0.8 * (inside + len(outside)), outside
