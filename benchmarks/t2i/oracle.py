"""The oracle bound: it knows every true rate and pays only for certificates.

It takes true minimal failures from the surest to the least sure and draws images of each until its e-value
reaches 1 / level. It opens nothing else, so e-BH asks for no more, and it pays nothing to learn that parents
pass. No strategy that must certify can find more with as many images, but for luck.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from failscape.simulate.scoring import Checkpoint, Truth, Watched
from failscape.stats.evalues import log_e_value
from failscape.stats.judging.accuracy import JudgeAccuracy

MOST = 400
"""Nodes that need more images than this are left out: they are the last that an oracle would try."""


def watch_oracle(
    truth: Truth, images: int, level: float, accuracy: JudgeAccuracy | None, checkpoints: int, seed: int
) -> Watched:
    costs = failure_costs(truth, level, accuracy, seed)
    judged, limits = _judged(truth, accuracy)
    order = np.argsort(-distance(judged, limits), kind="stable")
    spent = np.cumsum(costs[order])
    spent = spent[np.isfinite(spent)]
    watched = Watched()
    for number in range(1, checkpoints + 1):
        mark = images * number // checkpoints
        found = int(np.searchsorted(spent, mark, side="right"))
        watched.checkpoints.append(Checkpoint(mark, found, found, found, found))
    watched.images = min(images, int(spent[-1])) if len(spent) else 0
    return watched


def failure_costs(
    truth: Truth, level: float, accuracy: JudgeAccuracy | None, seed: int
) -> NDArray[np.float64]:
    """Images until each minimal failure of the truth is certified."""
    judged, limits = _judged(truth, accuracy)
    return _images_needed(judged, limits, level, np.random.default_rng([seed, 17]))


def _judged(truth: Truth, accuracy: JudgeAccuracy | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of every minimal failure: the rate that the judge shows, and the one that it is tested against."""
    world, nodes = truth.world, list(truth.minimal)
    judged = np.array([world.judged_rate(node) for node in nodes])
    limits = np.full(len(nodes), truth.threshold)
    if accuracy is not None:
        kinds = [world.plan(world.lattice.subject(node)).kinds for node in nodes]
        limits = np.array([accuracy.limits(each, truth.threshold).fail for each in kinds])
    return judged, limits


def distance(rates: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean evidence of an image: the divergence of the rate from its limit; 0 above the limit."""
    rates = np.clip(rates, 1e-9, 1 - 1e-9)
    bits = rates * np.log(rates / limits) + (1 - rates) * np.log((1 - rates) / (1 - limits))
    return np.where(rates < limits, bits, 0.0)


def _images_needed(
    rates: NDArray[np.float64], limits: NDArray[np.float64], level: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Images until the certificate, by luck of the draw; infinite when it is not reached in `MOST`."""
    needed = np.full(len(rates), np.inf)
    for limit in np.unique(limits):
        enough = _enough_failures(float(limit), level)
        for place in np.flatnonzero(limits == limit):
            passed = rng.random(MOST) < rates[place]
            passes = np.cumsum(passed)
            reached = np.flatnonzero(np.arange(1, MOST + 1) - passes >= enough[passes])
            if len(reached):
                needed[place] = reached[0] + 1
    return needed


def _enough_failures(limit: float, level: float) -> NDArray[np.int64]:
    """[passes]: the fewest failures that certify beside so many passes."""
    counts = np.arange(MOST + 1)
    logs = log_e_value(counts[:, None], counts[None, :], limit)
    certified = logs >= -np.log(level)
    return np.where(certified.any(axis=1), certified.argmax(axis=1), MOST + 1)
