"""Crossed random effects on the log-odds of success, fitted by penalised backfitting.

Rows are nodes with successes and trials; each factor gives a row one or more levels. How far the levels of a
factor vary is estimated from the data, so factors that say nothing shrink to nothing. Pure and deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
#: [row, k]: the levels of a factor that a row has; −1 means none.
Levels = NDArray[np.int64]

_START_VARIANCE = 0.6
_SMALLEST_VARIANCE = 0.02
#: How much the first guess of a variance counts, as squared information: so much as 20 levels would give with
#: about ten trials each, or 2,000 with one.
_PRIOR_WEIGHT = 20.0
_LARGEST_VARIANCE = 2.5
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.3, 1.5


@dataclass(frozen=True, slots=True)
class Effects:
    """`effects[f][level]` add up, with the intercept and an offset, to log-odds.

    `variances` has, by factor, how far its levels vary; `spread` is the variance of what no factor explains.
    `held_out` has, for every row of the fit, the log-odds that the other rows predict for it, with offset.
    """

    intercept: float
    effects: tuple[Floats, ...]
    #: The variance of each effect, given the data.
    errors: tuple[Floats, ...]
    variances: tuple[float, ...]
    spread: float
    held_out: Floats

    def standard_error(self, levels: Sequence[Levels]) -> Floats:
        """The standard error of a prediction, as far as it comes from the effects."""
        total = np.zeros(len(levels[0]))
        for errors, column in zip(self.errors, levels, strict=True):
            total += _gather(errors, column, self._unseen(errors))
        return np.sqrt(total)

    @staticmethod
    def _unseen(errors: Floats) -> float:
        """A level that the fit does not know has the whole variance of its factor."""
        return float(errors.max()) if len(errors) else _START_VARIANCE

    def predict(self, levels: Sequence[Levels], offset: Floats) -> Floats:
        """Log-odds of rows that need not have been in the fit."""
        total = offset + self.intercept
        for effects, column in zip(self.effects, levels, strict=True):
            total = total + _gather(effects, column, 0.0)
        return np.asarray(total, dtype=np.float64)


def fit_effects(
    levels: Sequence[Levels],
    sizes: Sequence[int],
    offset: Floats,
    successes: Floats,
    trials: Floats,
    rounds: int = 12,
) -> Effects:
    """Fit by repeated weighted least squares, one factor after the other."""
    fit = _Fit(levels, sizes, offset, successes, trials)
    for _ in range(rounds):
        fit.improve()
    return fit.result()


class _Fit:
    def __init__(
        self,
        levels: Sequence[Levels],
        sizes: Sequence[int],
        offset: Floats,
        successes: Floats,
        trials: Floats,
    ) -> None:
        # Level −1 is moved to an extra level that is always 0.
        self._columns = [
            np.where(column < 0, size, column) for column, size in zip(levels, sizes, strict=True)
        ]
        self._sizes = list(sizes)
        self._offset = offset
        self._share = successes / np.maximum(trials, 1)
        self._trials = trials
        self._intercept = 0.0
        self._effects = [np.zeros(size + 1) for size in sizes]
        self._variance = [_START_VARIANCE] * len(self._sizes)
        self._errors = [np.full(size, _START_VARIANCE) for size in sizes]
        self._spread = _START_VARIANCE
        self._eta = offset.copy()
        self._weigh()

    def _weigh(self) -> None:
        """Working responses and weights at the present log-odds: a quadratic that the likelihood never
        falls below (Jaakkola and Jordan), so that no step overshoots."""
        eta = self._eta
        curve = np.where(np.abs(eta) < 1e-4, 0.25, np.tanh(eta / 2) / (2 * np.where(eta == 0, 1.0, eta)))
        self._raw = self._trials * curve
        self._weight = self._raw / (1 + self._raw * self._spread)
        self._residual = (self._share - 0.5) / curve - eta
        self._leverage = np.zeros(len(self._eta))

    def improve(self) -> None:
        self._weigh()
        total = self._weight.sum()
        if total > 0:
            self._shift_all(float((self._weight * self._residual).sum() / (total + 1e-3)))
        for number in range(len(self._sizes)):
            self._improve_factor(number)
        self._update_spread()

    def _shift_all(self, step: float) -> None:
        self._intercept += step
        self._eta += step
        self._residual -= step

    def _improve_factor(self, number: int) -> None:
        column, size, old = self._columns[number], self._sizes[number], self._effects[number]
        members = column.shape[1]
        flat, weight = column.ravel(), np.repeat(self._weight, members)
        wanted = np.repeat(self._residual, members) + old[flat]
        mass = np.bincount(flat, weight, minlength=size + 1)
        pull = np.bincount(flat, weight * wanted, minlength=size + 1)
        penalty = 1 / self._variance[number]
        # Rows with several levels of one factor would overshoot if all of them moved the whole way.
        new = np.asarray(old + (pull / (mass + penalty) - old) / members)
        new[size] = 0.0
        self._effects[number] = new
        step = (new - old)[column].sum(axis=1)
        self._eta += step
        self._residual -= step
        self._leverage += (self._weight[:, None] / (mass + penalty)[column]).sum(axis=1) / members
        self._errors[number] = self._errors_of(number)
        self._update_variance(number)

    def _update_variance(self, number: int) -> None:
        """How far levels vary, by moments: the surprise at each level, squared, less what chance makes of it.

        EM would do for many trials per level; with few it falls far short, and rare levels go unnoticed.
        """
        column, size = self._columns[number], self._sizes[number]
        without = self._eta - self._effects[number][column].sum(axis=1)
        chance = special.expit(without)
        slope = chance * (1 - chance)
        surprise = self._trials * (self._share - chance)
        noise = self._trials * slope * (1 + (self._trials - 1) * slope * self._spread)
        members = column.shape[1]
        flat = column.ravel()
        found, expected, weight = (
            np.bincount(flat, np.repeat(part, members), minlength=size + 1)[:size]
            for part in (surprise, noise, self._trials * slope)
        )
        total = float((weight**2).sum())
        if total > 0:
            estimate = _steadied(float((found**2 - expected).sum()), total)
            target = float(np.clip(estimate, _SMALLEST_VARIANCE, _LARGEST_VARIANCE))
            self._variance[number] += 0.5 * (target - self._variance[number])

    def _errors_of(self, number: int) -> Floats:
        """The variance of each effect, given the data."""
        column, size = self._columns[number], self._sizes[number]
        chance = special.expit(self._eta)
        raw = self._trials * chance * (1 - chance)
        weight = np.repeat(raw / (1 + raw * self._spread), column.shape[1])
        mass = np.bincount(column.ravel(), weight, minlength=size + 1)[:size]
        return np.asarray(1 / (mass + 1 / self._variance[number]))

    def _update_spread(self) -> None:
        """What rows vary by themselves, by moments too: only rows with several trials can tell."""
        chance = special.expit(self._eta)
        slope = chance * (1 - chance)
        surprise = (self._trials * (self._share - chance)) ** 2 - self._trials * slope
        weight = self._trials * (self._trials - 1) * slope**2
        estimate = _steadied(float(surprise[self._trials > 1].sum()), float(weight.sum()))
        target = float(np.clip(estimate, _SMALLEST_SPREAD, _LARGEST_SPREAD))
        self._spread += 0.5 * (target - self._spread)

    def result(self) -> Effects:
        leverage = np.minimum(self._leverage, 0.8)
        held_out = self._eta - leverage / (1 - leverage) * self._clipped_residual()
        effects = tuple(effects[:-1] for effects in self._effects)
        errors, variances = tuple(self._errors), tuple(self._variance)
        return Effects(self._intercept, effects, errors, variances, self._spread, held_out)

    def _clipped_residual(self) -> Floats:
        return np.asarray(np.clip(self._residual, -6.0, 6.0))


def _steadied(excess: float, weight: float) -> float:
    """A variance by moments, drawn towards the first guess where there is little to go by."""
    return (excess + _PRIOR_WEIGHT * _START_VARIANCE) / (weight + _PRIOR_WEIGHT)


def _gather(of_level: Floats, column: Levels, of_none: float) -> Floats:
    """What the levels of each row have together; level −1 has `of_none`."""
    padded = np.append(of_level, of_none)  # index −1 is the last place
    return np.asarray(padded[column[:, 0]] if column.shape[1] == 1 else padded[column].sum(axis=1))
