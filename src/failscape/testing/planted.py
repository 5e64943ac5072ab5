"""The former address of `failscape.simulate.planted`, which configs and atlases of version 0.2 name."""

from failscape.simulate.planted import PlantedGenerator, PlantedJudge, PlantedWorld, simulate

__all__ = ["PlantedGenerator", "PlantedJudge", "PlantedWorld", "simulate"]
