"""Crossed random effects on the log-odds of success, fitted by penalised backfitting.

Rows are nodes with successes and trials; each factor gives a row one or more levels. How far the levels of a
factor vary is estimated from the data, so factors that say nothing shrink to nothing. Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Levels = NDArray[np.int64]
"""[row, k]: the levels of a factor that a row has; −1 means none."""

_START_VARIANCE = 0.6
_SMALLEST_VARIANCE = 0.1
_LARGEST_VARIANCE = 2.5
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.3, 1.5


@dataclass(frozen=True, slots=True)
class Effects:
    """`effects[f][level]` add up, with the intercept and an offset, to log-odds.

    `spread` is the variance of what no factor explains. `held_out` has, for every row of the fit, the log-odds
    that the other rows predict for it (offset included); `own` adds what the row itself says.
    """

    intercept: float
    effects: tuple[Floats, ...]
    errors: tuple[Floats, ...]
    """The variance of each effect, given the data."""
    spread: float
    held_out: Floats
    own: Floats

    def doubt(self, levels: Sequence[Levels]) -> Floats:
        """The standard error of a prediction, as far as it comes from the effects."""
        total = np.zeros(len(levels[0]))
        for errors, column, effects in zip(self.errors, levels, self.effects, strict=True):
            padded = np.append(errors, self._unseen(errors))
            total += padded[np.where(column < 0, len(effects), column)].sum(axis=1)
        return np.sqrt(total)

    @staticmethod
    def _unseen(errors: Floats) -> float:
        """A level that the fit does not know has the whole variance of its factor."""
        return float(errors.max()) if len(errors) else _START_VARIANCE

    def predict(self, levels: Sequence[Levels], offset: Floats) -> Floats:
        """Log-odds of rows that need not have been in the fit."""
        total = offset + self.intercept
        for effects, column in zip(self.effects, levels, strict=True):
            total = total + _gather(effects, column)
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
        new = old + (pull / (mass + penalty) - old) / members
        new[size] = 0.0
        self._effects[number] = new
        step = (new - old)[column].sum(axis=1)
        self._eta += step
        self._residual -= step
        self._leverage += (self._weight[:, None] / (mass + penalty)[column]).sum(axis=1) / members
        self._errors[number] = 1 / (mass[:size] + penalty)
        self._update_variance(number, mass[:size], new[:size])

    def _update_variance(self, number: int, mass: Floats, effects: Floats) -> None:
        """One EM step over the levels that were seen."""
        seen = mass > 0
        if seen.any():
            second = effects[seen] ** 2 + 1 / (mass[seen] + 1 / self._variance[number])
            self._variance[number] = float(np.clip(second.mean(), _SMALLEST_VARIANCE, _LARGEST_VARIANCE))

    def _update_spread(self) -> None:
        """Rows' own effects, each shrunk by how many trials it has: one EM step for their variance."""
        if len(self._raw):
            precision = self._raw + 1 / self._spread
            own = self._raw * self._residual / precision
            second = own**2 + 1 / precision
            self._spread = float(np.clip(second.mean(), _SMALLEST_SPREAD, _LARGEST_SPREAD))

    def result(self) -> Effects:
        leverage = np.minimum(self._leverage, 0.8)
        held_out = self._eta - leverage / (1 - leverage) * self._clipped_residual()
        own = self._eta + self._raw * self._residual / (self._raw + 1 / self._spread)
        effects = tuple(effects[:-1] for effects in self._effects)
        return Effects(self._intercept, effects, tuple(self._errors), self._spread, held_out, own)

    def _clipped_residual(self) -> Floats:
        return np.asarray(np.clip(self._residual, -6.0, 6.0))


def _gather(effects: Floats, column: Levels) -> Floats:
    padded = np.append(effects, 0.0)
    return np.asarray(padded[np.where(column < 0, len(effects), column)].sum(axis=1))
