"""`failscape plan`: what the throws of a config can show."""

from typing import Any

import failscape

from . import FACES
from .config import DiceConfig


def foresee(config: DiceConfig, accuracy: Any = None, effort: Any = None) -> failscape.Foresight:
    throws = config.throws * len(FACES)
    return failscape.Foresight(
        space=(f"{len(FACES)} faces, {config.throws} throws each",),
        proves=("a face that never comes is found after three throws",),
        expectations=(),
        images=throws,
        requests={"generator": throws, "judge": throws},
    )
