"""A planted world: a text-to-image model and a judge whose true rates are known for every node.

Use it purely (`simulate`), as in-process models (`PlantedGenerator`, `PlantedJudge`), or over HTTP
(`failscape.testing.servers`). All three give the same outcome for the same node and seed.
"""

from failscape.simulate.landscape import REGIMES, SHAPES, SPREADS, Landscape, Regime
from failscape.simulate.models import PlantedGenerator, PlantedJudge
from failscape.simulate.scoring import Simulated, simulate
from failscape.simulate.t2i_world import Accuracy, PlantedWorld, Uneven

__all__ = [
    "REGIMES",
    "SHAPES",
    "SPREADS",
    "Accuracy",
    "Landscape",
    "PlantedGenerator",
    "PlantedJudge",
    "PlantedWorld",
    "Regime",
    "Simulated",
    "Uneven",
    "simulate",
]
