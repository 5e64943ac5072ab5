"""Fits the last layer of a classifier anew on features: logistic regression from the old layer on. Pure.

Deep feature reweighting (Kirichenko, Izmailov and Wilson, 2023) fits a new last layer on balanced data. Here
the penalty pulls towards the old layer and not towards zero, so that classes which no row speaks of stay as
they were.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]

#: Most steps of L-BFGS; both twins get the same.
STEPS = 200

#: Weight of the pull towards the old layer, in units of the features' mean square. Chosen once, before any
#: proof was looked at; a stronger pull repairs less and harms less.
PULL = 1e-3

#: The share of all weight that failures get, spread evenly over findings; clean rows share the rest.
FAILURE_SHARE = 0.5


class Layer(NamedTuple):
    """`weight` is features × classes; `bias` is `None` for a layer without one."""

    weight: Floats
    bias: Floats | None

    def scores(self, features: Floats) -> Floats:
        found = features @ self.weight
        return np.asarray(found if self.bias is None else found + self.bias, np.float64)


class Rows(NamedTuple):
    """Features with the right class of each; `group` names the finding of a row, "" for clean ones."""

    features: Floats
    labels: NDArray[np.intp]
    groups: tuple[str, ...]


def row_weights(groups: tuple[str, ...]) -> Floats:
    """Findings share `FAILURE_SHARE` evenly; clean rows share what is left, or all of it."""
    names, places = np.unique(np.array(groups), return_inverse=True)
    counts = np.bincount(places).astype(np.float64)
    clean = names == ""
    findings = int((~clean).sum())
    failing = FAILURE_SHARE if findings and clean.any() else float(findings > 0)
    total = np.where(clean, 1 - failing, failing / max(1, findings))
    return np.asarray((total / counts)[places], np.float64)


def fit_layer(old: Layer, rows: Rows, pull: float = PULL) -> Layer:
    """The layer with the smallest weighted loss plus its pull towards `old`."""
    weights = row_weights(rows.groups)
    shape, size = old.weight.shape, old.weight.size
    scale = pull * float(np.mean(rows.features**2)) * shape[0]
    start = _flat(old)

    def loss(flat: Floats) -> tuple[float, Floats]:
        scores = _layer(flat, shape, size, old).scores(rows.features)
        logs = scores - special.logsumexp(scores, axis=1, keepdims=True)
        excess = np.exp(logs)
        excess[np.arange(len(excess)), rows.labels] -= 1
        excess *= weights[:, None]
        moved = flat - start
        value = -float(weights @ logs[np.arange(len(logs)), rows.labels]) + scale / 2 * float(moved @ moved)
        slope = [(rows.features.T @ excess).ravel()]
        slope += [] if old.bias is None else [excess.sum(axis=0)]
        return value, np.concatenate(slope) + scale * moved

    found: Any = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return _layer(np.asarray(found.x, np.float64), shape, size, old)


def placebo_rows(rows: Rows, seed: int) -> Rows:
    """As many rows without any failure: clean ones stand in for those, drawn by chance."""
    clean = np.array([not group for group in rows.groups])
    places = np.flatnonzero(clean)
    drawn = np.random.default_rng(seed).choice(places, size=int((~clean).sum()))
    chosen = np.concatenate([places, drawn])
    return Rows(rows.features[chosen], rows.labels[chosen], ("",) * len(chosen))


def _flat(layer: Layer) -> Floats:
    return np.concatenate([layer.weight.ravel(), *([] if layer.bias is None else [layer.bias])])


def _layer(flat: Floats, shape: tuple[int, ...], size: int, old: Layer) -> Layer:
    return Layer(flat[:size].reshape(shape), None if old.bias is None else flat[size:])
