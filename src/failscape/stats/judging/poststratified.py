"""How well a judge is known from labels in cells of answer x kind, and how many labels that takes. Pure.

The judge's answers to all checks are known, so each cell counts with its true share; labels only have to tell
how often the judge is wrong inside a cell, which is far less than how often checks hold in all. The share of
checks that truly hold and the share of right answers differ by known numbers alone: one half-width is both's.
For mass, comparisons and gates. Tests of single nodes keep to bounds of error (`accuracy.py`).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy import special

from failscape.stats.stratified_mean import Estimate, worth_interval

LEVEL = 0.95
#: How often a judge may be wrong in a cell that nobody labelled: cautious for judges worth having.
GUESS = 0.1

#: The guess counts as so many labels, so that few labels without an error do not promise too much.
GUESS_WORTH = 2.0


#: Labels that a cell needs to stand for itself: one says nothing about how they spread.
ENOUGH = 2


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


def collapsed(cells: Sequence[Cell]) -> list[Cell]:
    """Cells with fewer than two labels joined to others of the same answer, as far as there are such.

    Without it a few cells that nobody has reached yet may be anything, and hide what the others tell. It
    takes the judge to err alike in the cells it joins, until each has labels of its own.
    """
    found: list[Cell] = []
    for answer in (True, False):
        rest = sorted([cell for cell in cells if cell.answer is answer], key=lambda cell: cell.labels)
        while len(rest) > 1 and rest[0].labels < ENOUGH:
            first, second, *others = rest
            joined = Cell(
                answer,
                first.population + second.population,
                first.right + second.right,
                first.wrong + second.wrong,
            )
            rest = sorted([joined, *others], key=lambda cell: cell.labels)
        found += rest
    return found


def share_right(cells: Sequence[Cell], level: float = LEVEL) -> Estimate:
    """The share of the judge's answers that are right, with its interval."""
    return _share(cells, lambda cell: cell.right, level)


def share_true(cells: Sequence[Cell], level: float = LEVEL) -> Estimate:
    """The share of checks that truly hold, whatever the judge said."""
    return _share(cells, lambda cell: cell.right if cell.answer else cell.wrong, level)


def _share(cells: Sequence[Cell], hits_of: Callable[[Cell], int], level: float) -> Estimate:
    """Cells without labels may be anything from 0 to 1: they widen the interval by their weight.

    The variance is taken half a hit and half a miss away from the sample, for a cell that was labelled all
    alike is not without doubt; it is told as a number of independent labels (Korn and Graubard, 1998).
    """
    whole = sum(cell.population for cell in cells)
    seen = [cell for cell in collapsed(cells) if cell.labels]
    known = sum(cell.population for cell in seen)
    if not seen or whole <= 0:
        return float("nan"), (0.0, 1.0)
    mean = smooth = variance = 0.0
    for cell in seen:
        weight, rate = cell.population / known, (hits_of(cell) + 0.5) / (cell.labels + 1)
        mean += weight * hits_of(cell) / cell.labels
        smooth += weight * rate
        variance += weight**2 * rate * (1 - rate) / cell.labels
    low, high = worth_interval(mean, smooth * (1 - smooth) / variance, level)
    unknown = 1 - known / whole
    return mean, (low * (1 - unknown), high * (1 - unknown) + unknown)


def half_width(cells: Sequence[Cell], level: float = LEVEL) -> float:
    low, high = share_right(cells, level)[1]
    return (high - low) / 2


def labels_needed(cells: Sequence[Cell], goal: float, level: float = LEVEL) -> int:
    """Labels in all, those there are included, until the half-width is `goal` or less.

    Labels are shared out in proportion to population x spread (Neyman), two to a cell at least.
    """
    _check(goal)
    total = sum(cell.population for cell in cells)
    if total <= 0:
        return 0
    spreads = [cell.population / total * math.sqrt(cell.error * (1 - cell.error)) for cell in cells]
    wanted = (_z(level) * sum(spreads) / goal) ** 2
    shares = [wanted * one / sum(spreads) for one in spreads]
    needed = sum(
        min(math.ceil(cell.population), max(ENOUGH, cell.labels, math.ceil(share)))
        for cell, share in zip(cells, shares, strict=True)
        if cell.population > 0
    )
    # Populations are sums of weights, so that cells rounded up can be more than the checks there are.
    return min(needed, round(total))


def labels_alone(cells: Sequence[Cell], goal: float, level: float = LEVEL) -> int:
    """How many it would take without the judge's answers: a plain sample of checks, labelled."""
    _check(goal)
    total = sum(cell.population for cell in cells)
    if total <= 0:
        return 0
    true = sum(cell.population * (1 - cell.error if cell.answer else cell.error) for cell in cells) / total
    return min(math.ceil(total), math.ceil((_z(level) / goal) ** 2 * true * (1 - true)))


def _z(level: float) -> float:
    return float(special.ndtri((1 + level) / 2))


def _check(goal: float) -> None:
    if not 0 < goal < 0.5:
        raise ValueError(f"`0 < half-width < 0.5` must hold, but got {goal}")
