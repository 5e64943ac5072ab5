"""Runs a hunt against a planted world at full speed: ask, outcome, tell; no I/O and no clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from failscape.hunts.protocol import Hunt
from failscape.testing.planted_world import PlantedWorld
from failscape.trials import Probe, Trial


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
