"""A planted world: a text-to-image model and a judge whose true rates are known for every node.

Use it purely (`simulate`), as in-process models (`PlantedGenerator`, `PlantedJudge`), or over HTTP
(`failscape.testing.servers`). All three give the same outcome for the same node and seed.
"""

from failscape.testing.planted_landscape import REGIMES, SHAPES, SPREADS, Landscape, Regime
from failscape.testing.planted_models import PlantedGenerator, PlantedJudge
from failscape.testing.planted_world import Accuracy, PlantedWorld, Uneven
from failscape.testing.scoring import Simulated, simulate

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
