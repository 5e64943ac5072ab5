"""What an image of each prompt is worth: expected claims per image, from posteriors over rates. Pure."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.stats.rate_priors import RATES

Floats = NDArray[np.float64]

#: How many images might be spent on a prompt before giving up; the best of them counts.
CAPS: Floats = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0])
#: Evidence after which a prompt that passes is let go.
PASS_NATS = 3.0
#: A prompt is left alone for the list when so likely to fail.
SURE = 0.95
#: A failing image carries evidence in one piece, so that goals are overshot by about so many nats.
OVERSHOOT = 0.5


def chance_failing(weights: Floats, limits: Floats) -> Floats:
    """How likely the judged rate is below the limit, per prompt."""
    return np.asarray((weights * (RATES[None, :] < limits[:, None])).sum(axis=1))


def claims_per_image(weights: Floats, limits: Floats, needed: Floats) -> Floats:
    """The best chance of a claim per image, when a claim takes `needed` more nats of evidence.

    At a rate q each image brings KL(q, limit) nats on average. A prompt that passes is let go after
    `PASS_NATS`; one that fails slowly, after the cap that pays best.
    """
    nats = _divergence(limits)
    fails = RATES[None, :] < limits[:, None]
    goal = np.where(fails, np.maximum(needed, 0.0)[:, None] + OVERSHOOT, PASS_NATS)
    images = np.maximum(1.0, goal / np.maximum(nats, 1e-4))
    best = np.zeros(len(weights))
    for cap in CAPS:
        gained = (weights * (fails & (images <= cap))).sum(axis=1)
        spent = (weights * np.minimum(images, cap)).sum(axis=1)
        best = np.maximum(best, gained / spent)
    return best


def images_to_claim(weights: Floats, limits: Floats, needed: Floats) -> Floats:
    """About how many more images a prompt would take that does fail."""
    fails = RATES[None, :] < limits[:, None]
    images = (np.maximum(needed, 0.0)[:, None] + OVERSHOOT) / np.maximum(_divergence(limits), 1e-3)
    share = np.maximum((weights * fails).sum(axis=1), 1e-9)
    return np.asarray(np.maximum(1.0, (weights * fails * images).sum(axis=1) / share))


def nats_to_list(chances: Floats) -> Floats:
    """Evidence that brings a chance of failing to `SURE`."""
    return np.asarray(special.logit(SURE) - special.logit(np.clip(chances, 1e-9, 1 - 1e-9)))


def _divergence(limits: Floats) -> Floats:
    rates, tau = RATES[None, :], limits[:, None]
    return np.asarray(special.rel_entr(rates, tau) + special.rel_entr(1 - rates, 1 - tau))
