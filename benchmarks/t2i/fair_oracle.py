"""The fair oracle: it knows every true rate, and pays for certificates *and* for parents, shared by children.

A claim is a minimal failure only if its ancestors pass, and that has to be shown by images too: `PASS_NATS`
nats of evidence against "its rate is the threshold", shared by all claims that rest on the same ancestor.
What is best to buy is a closure problem (project selection: claims are worth 1, and need their ancestors),
solved exactly by a minimum cut for each price of an image. So no strategy that pays these prices finds more
in the mean, but for luck; between two prices the curve is the straight line that lies above all choices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from benchmarks.t2i.oracle import distance, failure_costs
from failscape.simulate.scoring import Checkpoint, Truth, Watched
from failscape.stats.judging.accuracy import JudgeAccuracy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PASS_NATS = 3.0
"""Evidence that an ancestor passes: odds of 20 to 1, as a certificate of failing needs at a level of 5 %."""
PRICES = np.geomspace(0.5, 1 / 400, 60)
"""What an image costs, in claims. At one claim for 400 images hardly anything is left to buy."""
_UNIT = 1_000_000
"""Capacities of a cut are whole numbers: one claim is worth so many."""
_MOST_PRICE = 2_000.0
"""What costs more claims than this is never bought; keeps capacities inside 32 bits."""


class Offer(NamedTuple):
    """Images per claim and per ancestor, and which claims (`claim`) rest on which ancestors (`rests`)."""

    claims: Floats
    ancestors: Floats
    claim: Ints
    rests: Ints


def watch_fair_oracle(
    truth: Truth, images: int, level: float, accuracy: JudgeAccuracy | None, checkpoints: int, seed: int
) -> Watched:
    spent, bought = _curve(make_offer(truth, level, accuracy, seed))
    watched = Watched(images=min(images, int(spent[-1])))
    for number in range(1, checkpoints + 1):
        mark = images * number // checkpoints
        found = int(np.interp(mark, spent, bought))
        watched.checkpoints.append(Checkpoint(mark, found, found, found, found))
    return watched


def make_offer(truth: Truth, level: float, accuracy: JudgeAccuracy | None, seed: int) -> Offer:
    nodes = list(truth.minimal)
    above = [truth.world.lattice.ancestors(node) for node in nodes]
    places = {node: at for at, node in enumerate(dict.fromkeys(a for each in above for a in each))}
    world, tau = truth.world, truth.threshold
    judged = np.array([world.judged_rate(node) for node in places])
    limits = np.full(len(places), tau)
    if accuracy is not None:
        kinds = [world.plan(world.lattice.subject(node)).kinds for node in places]
        limits = np.array([accuracy.limits(each, tau).passes for each in kinds])
    with np.errstate(divide="ignore"):
        costs = np.maximum(PASS_NATS / distance(1 - judged, 1 - limits), 1.0)
    claim = np.repeat(np.arange(len(nodes)), [len(each) for each in above])
    rests = np.array([places[a] for each in above for a in each], dtype=np.int64)
    return Offer(failure_costs(truth, level, accuracy, seed), costs, claim, rests)


def _curve(offer: Offer) -> tuple[Floats, Floats]:
    """Images spent and claims bought, from nothing on, along the upper hull of what is best at each price."""
    points = sorted({(0.0, 0), *(best_at(price, offer) for price in PRICES)})
    hull: list[tuple[float, int]] = []
    for point in points:
        while len(hull) >= 2 and _below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array([cost for cost, _ in hull]), np.array([float(found) for _, found in hull])


def _below(first: tuple[float, int], middle: tuple[float, int], last: tuple[float, int]) -> bool:
    """Whether the middle point lies on or below the line between the others."""
    (x0, y0), (x1, y1), (x2, y2) = first, middle, last
    return (y1 - y0) * (x2 - x0) <= (y2 - y0) * (x1 - x0)


def best_at(price: float, offer: Offer) -> tuple[float, int]:
    """Images and claims of the purchase that is worth most when an image costs `price` claims."""
    gains = 1 - price * offer.claims
    worth = np.isfinite(offer.claims) & (gains > 0)
    kept = worth[offer.claim]
    bought = _cut(gains, worth, np.minimum(price * offer.ancestors, _MOST_PRICE), offer, kept)
    paid = np.unique(offer.rests[bought[offer.claim]])
    return float(offer.claims[bought].sum() + offer.ancestors[paid].sum()), int(bought.sum())


def _cut(
    gains: Floats, worth: NDArray[np.bool_], prices: Floats, offer: Offer, kept: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which claims lie on the source's side of a minimum cut: source → claims → ancestors → sink."""
    claims, above = np.flatnonzero(worth), np.unique(offer.rests[kept])
    first = len(gains)
    source, sink = first + len(prices), first + len(prices) + 1
    needs = int(kept.sum())
    tails = np.concatenate([np.full(len(claims), source), offer.claim[kept], first + above])
    heads = np.concatenate([claims, first + offer.rests[kept], np.full(len(above), sink)])
    sizes = np.concatenate([gains[claims] * _UNIT, np.full(needs, 2.0 * _UNIT), prices[above] * _UNIT])
    network = csr_array((sizes.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    left = csr_array(network - maximum_flow(network, source, sink).flow)
    left.eliminate_zeros()
    side = np.zeros(sink + 1, dtype=np.bool_)
    side[breadth_first_order(left, source, return_predecessors=False)] = True
    return np.asarray(side[:first] & worth)
