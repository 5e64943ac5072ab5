"""How fast the models of a config are, and how large their pictures: by a few trials, before a plan."""

import asyncio
import time
from typing import Any

from failscape.config import HuntConfig
from failscape.doctor.observations import patients_of
from failscape.errors import ConfigError
from failscape.pictures import Picture
from failscape.planning.foresight import Pace
from failscape.plugins import kind_of
from failscape.runtime.walk import Stage, Team, Walk
from failscape.search.protocol import Hunt

#: Trials that are walked: three times what most servers take at once, so that a warm rate shows.
TRIALS = 24

#: Trials before the clock starts: weights load, servers warm up.
WARM_UP = 4


async def measure(config: HuntConfig) -> Pace:
    """Walks the first trials of the hunt, as many at a time as the run would; nothing is recorded."""
    hunt: Hunt = kind_of(config).build(config)
    stored = {picture.digest: picture for picture in kind_of(config).pictures(config)}
    probes = hunt.ask(TRIALS + WARM_UP)
    if not probes:
        raise ConfigError("there is nothing to measure: the hunt asks for no trial", "see the plan's space")
    async with patients_of(config) as patients:
        if patients.ailing:
            one = patients.ailing[0]
            raise ConfigError(f"nothing can be measured: {one.seen}", one.fix)
        team = _BareTeam(patients.models)
        room = asyncio.Semaphore(config.runtime.in_flight)

        async def walk(probe: Any) -> list[Picture]:
            async with room:
                recorded = await Walk(probe, team, stored.__getitem__, None).run()
                return [call.picture for call in recorded.calls if call.picture is not None]

        await asyncio.gather(*(walk(probe) for probe in probes[:WARM_UP]))
        started = time.perf_counter()
        drawn = await asyncio.gather(*(walk(probe) for probe in probes[WARM_UP:] or probes))
        seconds = time.perf_counter() - started
    count = len(probes[WARM_UP:] or probes)
    sizes = [len(picture.data) for pictures in drawn for picture in pictures]
    rate = count / seconds if seconds else 0.0
    return Pace(
        rate, sum(sizes) / len(sizes) if sizes else 0.0, f"{rate:,.1f} trials a second, measured on {count}"
    )


class _BareTeam(Team):
    """Models that are started already."""

    def __init__(self, models: dict[str, Any]) -> None:
        self.models = models
        self.stages = {role: Stage(role, model) for role, model in models.items()}
