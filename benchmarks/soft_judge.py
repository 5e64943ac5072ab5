"""Is evidence worth more when pictures are weighted by the judge's confidence? Simulated nodes.

    python -m benchmarks.soft_judge [--nodes 2000] [--labels 200]

A judge sees a score, normal around +d/2 where the check holds and -d/2 where it does not, and says the chance
that it holds: calibrated, for checks of which `HOLDING` hold. Four bets on the same pictures, all against
"the true rate is at least τ": `yes and no` and `mean chance` against the lowest rate, or mean chance, that a
node at τ could show (`JudgeAccuracy.believed`, as hunts do); `likelihood` takes the chances for the truth,
which is the most that confidence can be worth, and is valid only if they are calibrated. After a review they
go through a curve (logistic) fitted to the labels: `likelihood, curve` as it is, `likelihood, bounded` at the
least favourable curve of its 95 % region. `known` reckons with the judge's true errors, `labels` with those
that a review of so many checks shows. An `uneven` judge has scores that lie higher for some nodes than for
others (by half a standard deviation): it is calibrated in the mean of nodes, as a review sees it, and for no
node by itself.

Printed: evidence per picture in nats at 40 pictures, for nodes below τ; how many of these nodes reach e ≥
1,000 within 40 pictures; and how many nodes *at* τ ever reach e ≥ 20 within 200 (at most 5 % may).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from failscape.stats.evalues import LOW_SHAPE, LOW_SHARE, log_bet
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.stats.judging.confidence import LabelledChance, soft_accuracy

Floats = NDArray[np.float64]
#: From chances [node, picture] to log e after each picture.
Bet = Callable[[Floats], Floats]

TAU = 0.8
#: Share of checks that hold among those that a search puts: it looks where failures are likely.
HOLDING = 0.6

RATES = (0.1, 0.4, 0.6)
PICTURES, PROOF = 40, 1000.0
LONG, LEVEL = 200, 0.05
#: Shares of right answers at a threshold of one half, on both sides.
ACCURACIES = (0.98, 0.95, 0.9, 0.84)

GRID = np.linspace(0.005, TAU - 0.005, 80)


@dataclass(frozen=True, slots=True)
class SoftJudge:
    """`sharpness` multiplies what it says in log-odds: 1 is calibrated, 2 is too sure of itself. `uneven` is
    the standard deviation of scores between nodes."""

    accuracy: float
    sharpness: float = 1.0
    uneven: float = 0.0

    @property
    def distance(self) -> float:
        return float(2 * stats.norm.ppf(self.accuracy))

    def chances(self, rng: np.random.Generator, holds: NDArray[np.bool_]) -> Floats:
        """[node, picture]. In the mean of nodes scores spread wider, and odds are by that wider spread."""
        middle = np.where(holds, self.distance, -self.distance) / 2
        scores = rng.normal(middle + rng.normal(0, self.uneven, (len(holds), 1)))
        odds = self.distance * scores / (1 + self.uneven**2) + special.logit(HOLDING)
        return np.asarray(special.expit(self.sharpness * odds))

    def shown(self, rng: np.random.Generator, rate: float, nodes: int, pictures: int) -> Floats:
        return self.chances(rng, rng.random((nodes, pictures)) < rate)


class Curve(NamedTuple):
    """Slope and shift in log-odds, and some that lie on the border of their 95 % region."""

    fitted: tuple[float, float]
    border: list[tuple[float, float]]


class Knowledge(NamedTuple):
    """What is known of a judge: its errors at yes and no, and its mean chances."""

    hard: JudgeAccuracy
    soft: JudgeAccuracy
    curve: Curve | None = None


def known(judge: SoftJudge, rng: np.random.Generator) -> Knowledge:
    """Without doubt, from very many pictures."""
    holds, fails = (judge.shown(rng, rate, 100_000, 10) for rate in (1.0, 0.0))
    hard = {ALL_OTHERS: (float((holds >= 0.5).mean()), float((fails < 0.5).mean()))}
    soft = {ALL_OTHERS: (float(holds.mean()), float(1 - fails.mean()))}
    return Knowledge(JudgeAccuracy.from_rates(hard), JudgeAccuracy.from_rates(soft))


def reviewed(judge: SoftJudge, rng: np.random.Generator, labels: int) -> Knowledge:
    """Of as many nodes as there are labels."""
    truth = rng.random(labels) < HOLDING
    chances = judge.chances(rng, truth[:, None])[:, 0]
    rows = [LabelledChance("", float(c), bool(t)) for c, t in zip(chances, truth, strict=True)]
    yes, held = chances >= 0.5, int(truth.sum())
    counts = (int((yes & truth).sum()), held, int((~yes & ~truth).sum()), labels - held)
    soft = soft_accuracy(rows)
    if soft is None:
        raise SystemExit("`labels` are too few: ten of each sort are needed")
    return Knowledge(JudgeAccuracy.from_counts({ALL_OTHERS: counts}), soft, fitted_curve(chances, truth))


def fitted_curve(chances: Floats, truth: NDArray[np.bool_]) -> Curve:
    """By maximum likelihood, a thousandth of a label away from perfect order; the region is Wald's."""
    odds = log_odds(chances)

    def loss(at: Floats) -> float:
        said = at[0] * odds + at[1]
        return float(np.sum(np.logaddexp(0, said) - truth * said) + 1e-3 * np.sum((at - [1, 0]) ** 2))

    best = np.asarray(optimize.minimize(loss, np.array([1.0, 0.0])).x)
    chance = special.expit(best[0] * odds + best[1])
    design = np.stack([odds, np.ones_like(odds)], axis=1)
    spread = np.linalg.cholesky(np.linalg.inv((design.T * (chance * (1 - chance))) @ design))
    turns = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    round_it = np.sqrt(stats.chi2.ppf(0.95, 2)) * np.stack([np.cos(turns), np.sin(turns)])
    border = (best[:, None] + spread @ round_it).T
    return Curve((float(best[0]), float(best[1])), [(float(slope), float(shift)) for slope, shift in border])


def log_odds(chances: Floats) -> Floats:
    return np.asarray(special.logit(np.clip(chances, 1e-9, 1 - 1e-9)))


def counted(passed: Floats, limit: float) -> Floats:
    total = np.cumsum(passed, axis=1)
    return np.asarray(log_bet(total, np.arange(1, passed.shape[1] + 1) - total, limit))


def likelihood(chances: Floats, slope: float, shift: float) -> Floats:
    """Bets on every rate below τ with the stakes of `log_bet`, by the densities that chances stand for."""
    ratio = np.exp(np.clip(slope * log_odds(chances) + shift - special.logit(HOLDING), -30, 30))
    low = stats.beta.pdf(GRID, 1, LOW_SHAPE)
    stakes = (1 - LOW_SHARE) / len(GRID) + LOW_SHARE * low / low.sum()
    total = np.full(chances.shape, -np.inf)
    for rate, stake in zip(GRID, stakes, strict=True):
        won = np.log((rate * ratio + 1 - rate) / (TAU * ratio + 1 - TAU))
        total = np.logaddexp(total, np.log(stake) + np.cumsum(won, axis=1))
    return total


def bets(what: Knowledge) -> dict[str, Bet]:
    hard, soft = (one.believed([ALL_OTHERS], TAU).fail for one in (what.hard, what.soft))
    found: dict[str, Bet] = {
        "yes and no": lambda chances: counted((chances >= 0.5).astype(np.float64), hard),
        "mean chance": lambda chances: counted(chances, soft),
    }
    if (curve := what.curve) is None:
        return {**found, "likelihood": lambda chances: likelihood(chances, 1.0, 0.0)}
    return {
        **found,
        "likelihood, curve": lambda chances: likelihood(chances, *curve.fitted),
        "likelihood, bounded": lambda chances: np.min(
            [likelihood(chances, *at) for at in curve.border], axis=0
        ),
    }


class Row(NamedTuple):
    judge: str
    known_by: str
    bet: str
    nats: tuple[float, ...]
    proven: tuple[float, ...]
    false: float

    def __str__(self) -> str:
        pairs = " | ".join(
            f"{nats:.3f}, {proven:.0%}" for nats, proven in zip(self.nats, self.proven, strict=True)
        )
        return f"| {self.judge} | {self.known_by} | {self.bet} | {pairs} | {self.false:.1%} |"


def rows(nodes: int, labels: int, seed: int, judges: list[tuple[str, SoftJudge]]) -> Iterator[Row]:
    """A review is drawn anew for each of twenty parts of the nodes: one lucky review would tell little."""
    reviews = 20
    for name, judge in judges:
        rng = np.random.default_rng(
            [seed, round(1000 * judge.accuracy), round(10 * judge.sharpness), round(10 * judge.uneven)]
        )
        sources = [("known", [known(judge, rng)])]
        sources.append((f"{labels} labels", [reviewed(judge, rng, labels) for _ in range(reviews)]))
        for known_by, knowledge in sources:
            each = nodes // len(knowledge)
            shown = [[judge.shown(rng, rate, each, PICTURES) for _ in knowledge] for rate in RATES]
            level = [judge.shown(rng, TAU, each, LONG) for _ in knowledge]
            tables = [bets(one) for one in knowledge]
            for bet in tables[0]:
                ends = [
                    np.concatenate([table[bet](seen) for table, seen in zip(tables, one, strict=True)])
                    for one in shown
                ]
                at_level = np.concatenate(
                    [table[bet](seen) for table, seen in zip(tables, level, strict=True)]
                )
                yield Row(
                    name,
                    known_by,
                    bet,
                    tuple(float(end[:, -1].mean()) / PICTURES for end in ends),
                    tuple(float((end.max(axis=1) >= np.log(PROOF)).mean()) for end in ends),
                    float((at_level.max(axis=1) >= -np.log(LEVEL)).mean()),
                )


JUDGES = [
    *((f"{accuracy:.0%} right, calibrated", SoftJudge(accuracy)) for accuracy in ACCURACIES),
    ("90% right, too sure (log-odds doubled)", SoftJudge(0.9, 2.0)),
    ("90% right, too modest (halved)", SoftJudge(0.9, 0.5)),
    ("90% right, uneven", SoftJudge(0.9, uneven=0.5)),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rates = " | ".join(f"true rate {rate:g}: nats a picture, proven" for rate in RATES)
    print(f"| judge | errors | bet | {rates} | at τ: ever e ≥ 20 |\n|{'---|' * (4 + len(RATES))}")
    for row in rows(options.nodes, options.labels, options.seed, JUDGES):
        print(row, flush=True)


if __name__ == "__main__":
    main()
