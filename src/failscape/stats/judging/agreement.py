"""How far two judges, or two people, agree on yes/no answers: share, Cohen's kappa, intervals. Pure.

Answers about one subject are alike, so intervals count subjects and not answers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import Floats, grouped_share

#: More subjects than this are left out in blocks of whole subjects.
MOST_BLOCKS = 100


@dataclass(frozen=True, slots=True)
class Agreement:
    """`kappa` is not a number when one side gave the same answer throughout: nothing to agree about."""

    answers: int
    share: float
    interval: tuple[float, float]
    kappa: float
    kappa_interval: tuple[float, float]
    only_first: int
    only_second: int


def agreement(
    first: ArrayLike, second: ArrayLike, subjects: ArrayLike | None = None, level: float = 0.95
) -> Agreement:
    """Two rows of answers to the same questions. `subjects[i]` names what answer i is about."""
    one, two = np.asarray(first, np.bool_), np.asarray(second, np.bool_)
    if one.shape != two.shape or one.ndim != 1:
        raise ValueError(f"two rows of one length are needed, but got {one.shape} and {two.shape}")
    units = np.arange(len(one)) if subjects is None else np.unique(subjects, return_inverse=True)[1]
    share, interval = grouped_share(one == two, np.ones(len(one)), units, level)
    cells = _cells(one, two, units)
    kappa = _kappa(cells.sum(axis=0))
    return Agreement(
        answers=len(one),
        share=share,
        interval=interval,
        kappa=kappa,
        kappa_interval=_kappa_interval(cells, kappa, level),
        only_first=int(np.sum(one & ~two)),
        only_second=int(np.sum(two & ~one)),
    )


def _cells(one: ArrayLike, two: ArrayLike, units: ArrayLike) -> Floats:
    """Per block of subjects: how often both said no, only the second yes, only the first, both."""
    blocks = np.asarray(units) % MOST_BLOCKS
    count = int(blocks.max(initial=-1)) + 1
    codes = blocks * 4 + np.asarray(one, np.int64) * 2 + np.asarray(two, np.int64)
    return np.bincount(codes, minlength=4 * count).reshape(count, 4).astype(np.float64)


def _kappa(cells: Floats) -> float:
    neither, second, first, both = (float(cell) for cell in cells)
    total = neither + second + first + both
    if total <= 0:
        return float("nan")
    said_one, said_two = (first + both) / total, (second + both) / total
    if min(said_one, said_two) <= 0 or max(said_one, said_two) >= 1:
        return float("nan")
    chance = said_one * said_two + (1 - said_one) * (1 - said_two)
    return ((neither + both) / total - chance) / (1 - chance)


def _kappa_interval(cells: Floats, kappa: float, level: float) -> tuple[float, float]:
    """Jackknife over blocks with Student's t; (-1, 1) when there is nothing to leave out."""
    count = len(cells)
    if not np.isfinite(kappa) or count < 2:
        return -1.0, 1.0
    total = cells.sum(axis=0)
    left = np.array([_kappa(total - block) for block in cells])
    left = np.where(np.isfinite(left), left, kappa)
    error = float(np.sqrt((count - 1) / count * np.sum((left - left.mean()) ** 2)))
    half = float(special.stdtrit(count - 1, (1 + level) / 2)) * error
    return max(-1.0, kappa - half), min(1.0, kappa + half)
