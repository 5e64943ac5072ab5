"""Evidence that a rate lies below a threshold, valid at any moment of looking, and which of it to claim.

The null says p ≥ τ. The e-process bets on every q < τ at once (a uniform mixture fixed before the first
image), so under the null its mean never exceeds 1, whenever and why ever we stop. e-BH picks which of many
e-values to claim so that the expected share of false claims stays below a level. It needs no independence. It
counts over everything tried: pass `total` when some e-values are left out.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

#: Logarithms above this have no finite exponential: e**709 is near the largest float.
LARGEST_LOG = 709.0

Floats = NDArray[np.float64]


def log_e_value(successes: ArrayLike, failures: ArrayLike, threshold: ArrayLike) -> Floats:
    """log e with e = B(1+s, 1+f)·I_τ(1+s, 1+f) / (τ·τ^s·(1−τ)^f)."""
    s, f, tau = np.broadcast_arrays(
        np.asarray(successes, np.float64),
        np.asarray(failures, np.float64),
        np.asarray(threshold, np.float64),
    )
    if np.any(tau <= 0) or np.any(tau >= 1):
        raise ValueError("`0 < threshold < 1` must hold everywhere")
    if np.any(s < 0) or np.any(f < 0):
        raise ValueError("`successes >= 0` and `failures >= 0` must hold everywhere")
    share = special.betainc(1 + s, 1 + f, tau)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        direct = special.betaln(1 + s, 1 + f) + np.log(share) - (1 + s) * np.log(tau) - f * np.log1p(-tau)
        # The same number as a series, for evidence so weak that the share underflows.
        series = np.log1p(-tau) - np.log1p(s) + np.log(special.hyp2f1(2 + s + f, 1.0, 2 + s, tau))
    return np.asarray(np.where(share > 1e-280, direct, series), dtype=np.float64)


def e_value(successes: ArrayLike, failures: ArrayLike, threshold: ArrayLike) -> Floats:
    """The certificate after s successes and f failures; capped at the largest float."""
    return np.exp(np.minimum(log_e_value(successes, failures, threshold), LARGEST_LOG))


def e_value_of_log(log_e: float) -> float:
    """An e-value from its logarithm, capped so that it stays a finite number, which JSON can hold."""
    return math.exp(min(float(log_e), LARGEST_LOG))


def log_e_process(outcomes: ArrayLike, threshold: float) -> Floats:
    """log e after each of a row of outcomes (true: success), starting with 0 before the first."""
    passed = np.asarray(outcomes, dtype=np.bool_)
    successes = np.concatenate(([0], np.cumsum(passed)))
    failures = np.concatenate(([0], np.cumsum(~passed)))
    return log_e_value(successes, failures, threshold)


LOW_SHARE = 0.5
#: Half of the stake of `log_bet` is spread evenly over q < τ, half is on low rates: Beta(1, 12) below τ.
LOW_SHAPE = 12.0


def log_bet(successes: ArrayLike, failures: ArrayLike, threshold: ArrayLike) -> Floats:
    """log of an e-value as `log_e_value`'s, with half of the stake on models that almost never succeed.

    A search picks what it expects to fail badly; there, three failures in a row weigh as much as four do
    with the even stake, and elsewhere at most log 2 is lost. The stakes are the same for every node and fixed
    before its first image, so the e-value is as valid.
    """
    s, f, tau = np.broadcast_arrays(
        np.asarray(successes, np.float64),
        np.asarray(failures, np.float64),
        np.asarray(threshold, np.float64),
    )
    even = log_e_value(s, f, tau)
    with np.errstate(divide="ignore"):
        low = (
            special.betaln(1 + s, LOW_SHAPE + f)
            + np.log(special.betainc(1 + s, LOW_SHAPE + f, tau))
            - special.betaln(1.0, LOW_SHAPE)
            - np.log(special.betainc(1.0, LOW_SHAPE, tau))
            - s * np.log(tau)
            - f * np.log1p(-tau)
        )
    return np.asarray(np.logaddexp(np.log1p(-LOW_SHARE) + even, np.log(LOW_SHARE) + low))


def e_bh(e_values: ArrayLike, level: float, total: int | None = None) -> NDArray[np.bool_]:
    """True for the k largest, k the largest number whose k-th largest e-value is ≥ total / (level·k)."""
    return log_e_bh(_logs(e_values), level, total)


def log_e_bh(log_e_values: ArrayLike, level: float, total: int | None = None) -> NDArray[np.bool_]:
    """`e_bh` for logarithms of e-values, which may be too large for a float."""
    logs = np.asarray(log_e_values, dtype=np.float64)
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    tried = len(logs) if total is None else total
    if tried < len(logs):
        raise ValueError(f"`total >= number of e-values` must hold, but got {tried} and {len(logs)}")
    claimed = np.zeros(len(logs), dtype=np.bool_)
    order = np.argsort(-logs, kind="stable")
    ranks = np.arange(1, len(logs) + 1)
    enough = np.flatnonzero(logs[order] >= np.log(max(tried, 1)) - np.log(level * ranks))
    if len(enough):
        claimed[order[: enough[-1] + 1]] = True
    return claimed


def _logs(e_values: ArrayLike) -> Floats:
    values = np.asarray(e_values, dtype=np.float64)
    if np.any(values < 0):
        raise ValueError("e-values must not be negative")
    with np.errstate(divide="ignore"):
        return np.log(values)
