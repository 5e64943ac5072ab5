"""How well a judge is known from labels in cells of answer x kind, and how many labels that takes. Pure.

The judge's answers to all checks are known, so each cell counts with its true share; labels only have to tell
how often the judge is wrong inside a cell, which is far less than how often checks hold in all. The share of
checks that truly hold and the share of right answers differ by known numbers alone: one half-width is both's.
For mass, comparisons and gates. Tests of single nodes keep to bounds of error (`accuracy.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from failscape.stats.stratified_mean import Estimate, Stratum, stratified_mean

LEVEL = 0.95
GUESS = 0.1
"""How often a judge may be wrong in a cell that nobody labelled: cautious for judges worth having."""

GUESS_WORTH = 2.0
"""The guess counts as so many labels, so that few labels without an error do not promise too much."""


class Cell(NamedTuple):
    """Answers of a judge that are alike: `population` of them, all `answer`; some are labelled."""

    answer: bool
    population: float
    right: int
    wrong: int

    @property
    def labels(self) -> int:
        return self.right + self.wrong

    @property
    def error(self) -> float:
        """How often the judge is wrong here, drawn towards the guess while labels are few."""
        return (self.wrong + GUESS_WORTH * GUESS) / (self.labels + GUESS_WORTH)


def share_right(cells: Sequence[Cell], level: float = LEVEL) -> Estimate:
    """The share of the judge's answers that are right, with its interval."""
    return stratified_mean([_stratum(cell, right=True) for cell in cells], level=level)


def share_true(cells: Sequence[Cell], level: float = LEVEL) -> Estimate:
    """The share of checks that truly hold, whatever the judge said."""
    return stratified_mean([_stratum(cell, right=cell.answer) for cell in cells], level=level)


def half_width(cells: Sequence[Cell], level: float = LEVEL) -> float:
    low, high = share_right(cells, level)[1]
    return (high - low) / 2


def labels_needed(cells: Sequence[Cell], goal: float, level: float = LEVEL) -> int:
    """Labels in all, those there are included, until the half-width is `goal` or less.

    Labels are shared out in proportion to population x spread (Neyman), at least two to a cell.
    """
    _check(goal)
    total = sum(cell.population for cell in cells)
    if total <= 0:
        return 0
    spreads = [cell.population / total * math.sqrt(cell.error * (1 - cell.error)) for cell in cells]
    wanted = (_z(level) * sum(spreads) / goal) ** 2
    shares = [wanted * one / sum(spreads) for one in spreads]
    return sum(
        min(math.ceil(cell.population), max(2, cell.labels, math.ceil(share)))
        for cell, share in zip(cells, shares, strict=True)
        if cell.population > 0
    )


def labels_alone(cells: Sequence[Cell], goal: float, level: float = LEVEL) -> int:
    """How many it would take without the judge's answers: a plain sample of checks, labelled."""
    _check(goal)
    total = sum(cell.population for cell in cells)
    if total <= 0:
        return 0
    true = sum(cell.population * (1 - cell.error if cell.answer else cell.error) for cell in cells) / total
    return min(math.ceil(total), math.ceil((_z(level) / goal) ** 2 * true * (1 - true)))


def _stratum(cell: Cell, right: bool) -> Stratum:
    hits = cell.right if right else cell.wrong
    return Stratum(cell.population, np.repeat([1.0, 0.0], [hits, cell.labels - hits]))


def _z(level: float) -> float:
    return float(special.ndtri((1 + level) / 2))


def _check(goal: float) -> None:
    if not 0 < goal < 0.5:
        raise ValueError(f"`0 < half-width < 0.5` must hold, but got {goal}")
