"""Which prompts are claimed, and how: certified by their own e-values, or listed by their posterior. Pure."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Prompts join the list while its mean doubt stays below the first share of the level, and leave it above the
#: second: what is shown does not flicker. The rest of the level is for what posteriors of chosen prompts are
#: too sure of: on planted lists 0.9 gave 4.4 % false at a level of 5 %, and up to 8 % on the way.
ENTRY, STAY = 0.6, 0.8
#: Own images that a listed prompt must have.
LEAST_IMAGES = 2
LEAST_CHANCE = 0.6
STAYS_ABOVE = 0.5


def update_list(
    listed: Collection[int], certified: Collection[int], chances: Floats, images: Floats, level: float
) -> set[int]:
    """The prompts listed now, beside the certified ones: the expected false share of both is ≤ `level`.

    Those listed before come first, surest first, then new ones. Certified prompts count with their doubt.
    """
    doubts = 1 - chances
    total, count = float(doubts[list(certified)].sum()), len(certified)
    kept: set[int] = set()
    before = [at for at in listed if at not in certified and chances[at] >= STAYS_ABOVE]
    for at in sorted(before, key=lambda one: (doubts[one], one)):
        if total + doubts[at] > STAY * level * (count + 1):
            break
        kept.add(at)
        total, count = total + float(doubts[at]), count + 1
    fresh = np.flatnonzero((chances >= LEAST_CHANCE) & (images >= LEAST_IMAGES))
    waiting = [at for at in fresh.tolist() if at not in kept and at not in certified]
    for at in sorted(waiting, key=lambda one: (doubts[one], one)):
        if total + doubts[at] > ENTRY * level * (count + 1):
            break
        kept.add(at)
        total, count = total + float(doubts[at]), count + 1
    return kept
