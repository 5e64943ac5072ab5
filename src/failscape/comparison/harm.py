"""Is the new model worse than it may be? Where a gate looks next, what it decides, what its budget can catch.

Harm is the failure rate of the new model minus that of the baseline: overall, on as many cases of every
subject; and of each subject, with an e-process against "no more than the margin". Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from failscape.stats.differences import grouped_difference, log_e_more
from failscape.stats.evalues import Floats, log_e_bh

Ints = NDArray[np.int64]

#: The share of the budget that all subjects get alike: the overall harm is of these cases.
BASE_SHARE = 0.4

#: The rest goes in so many turns, each to half as many subjects as the one before, those that look worst.
TURNS = 8

#: After so many halvings the same few are looked at again and again.
HALVINGS = 5

#: What the line about power is for: ten points more failures on a twentieth of the subjects, nine in ten.
REGRESSION, AFFECTED, CAUGHT = 0.1, 0.05, 0.9

#: The share of made-up gates that must find it: with so many, a true chance below 90 % is unlikely.
AIM = 0.95

#: Made-up gates to find about the right budget, and to be sure of it.
ROUGH, THOROUGH = 24, 100


#: A margin near the regression itself needs more than anybody draws: the search ends here.
MOST_NEEDED = 1 << 22


class GateVerdict(StrEnum):
    """What a gate says. `open`: neither harm nor its absence is shown."""

    FAILED = "failed"
    PASSED = "passed"
    OPEN = "open"


@dataclass(frozen=True)
class GateRules:
    """`margin` is the harm that is allowed; `level` the chance of a false alarm, at most."""

    margin: float = 0.02
    level: float = 0.05


@dataclass(frozen=True)
class GateHarm:
    """`harmed` are the places of subjects that are proven worse by more than the margin."""

    verdict: GateVerdict
    difference: float
    interval: tuple[float, float]
    pairs: int
    harmed: tuple[int, ...]
    log_e: Floats = field(repr=False)


def judge_harm(
    base: Sequence[tuple[str, int]], more: Floats, less: Floats, pairs: Floats, rules: GateRules
) -> GateHarm:
    """Half of the level is for the overall harm, half for all subjects together (e-BH).

    `base` has the subject and the difference (-1, 0 or 1) of every base case. `more`, `less` and `pairs` are
    counts of each subject: only the new model failed, only the old one did, all.
    """
    names, values = [name for name, _ in base], [value for _, value in base]
    difference, (low, high) = grouped_difference(values, names, 1 - rules.level / 2)
    logs = log_e_more(more, less, pairs, rules.margin)
    harmed = tuple(np.flatnonzero(log_e_bh(logs, rules.level / 2)).tolist()) if len(logs) else ()
    verdict = GateVerdict.OPEN
    if harmed or (base and low > rules.margin):
        verdict = GateVerdict.FAILED
    elif base and high < rules.margin:
        verdict = GateVerdict.PASSED
    return GateHarm(verdict, difference, (low, high), len(base), harmed, logs)


def base_cases(budget: int, subjects: int) -> int:
    """How many cases every subject gets at first, as far as there are so many."""
    return max(1, int(BASE_SHARE * budget) // max(subjects, 1))


def next_cases(log_e: Floats, room: Ints, left: int, turn: int) -> Ints:
    """How many more cases each subject gets in a turn: those that look worst share it alike."""
    given = np.zeros(len(room), dtype=np.int64)
    able = np.flatnonzero(room > 0)
    if not len(able) or left <= 0:
        return given
    keep = max(1, len(room) >> min(turn + 1, HALVINGS))
    worst = able[np.argsort(-log_e[able], kind="stable")][:keep]
    size = left if turn >= TURNS - 1 else -(-left // (TURNS - turn))
    given[worst] = np.minimum(room[worst], -(-size // len(worst)))
    over = int(given.sum()) - left
    for place in worst[::-1]:  # what is too much goes back, from those that look best
        if over <= 0:
            break
        back = min(over, int(given[place]))
        given[place] -= back
        over -= back
    return given


@dataclass(frozen=True)
class GatePower:
    """What a budget can catch. `needed` trials catch the regression; `have` is what there is."""

    needed: int
    have: int
    regression: float = REGRESSION
    affected: float = AFFECTED
    power: float = CAUGHT

    @property
    def sentence(self) -> str:
        return (
            f"catches a {100 * self.regression:.0f}-point regression of {100 * self.affected:.0f} % of the "
            f"subjects with {100 * self.power:.0f} % at {self.needed:,} trials; you have {self.have:,}"
        )


def gate_power(rates: Sequence[float], rules: GateRules, have: int) -> GatePower:
    """Counted over made-up gates: old rates as known, models that err independently of each other.

    That is the worst case: models that fail on the same cases differ less by chance, and are told apart
    sooner. Subjects may get any number of cases.
    """
    before = np.clip(np.asarray(rates, np.float64), 0.0, 1.0)
    low, high = 1, max(64, 16 * len(before))
    while caught_share(before, rules, high, ROUGH) < AIM and high < MOST_NEEDED:
        low, high = high, high * 2
    while high - low > high // 6:
        middle = (low + high) // 2
        enough = caught_share(before, rules, middle, ROUGH) >= AIM
        low, high = (low, middle) if enough else (middle, high)
    while caught_share(before, rules, high, THOROUGH) < AIM and high < MOST_NEEDED:
        high += high // 8
    return GatePower(high, have)


def caught_share(before: Floats, rules: GateRules, budget: int, runs: int, seed: int = 11) -> float:
    """How many of so many made-up gates find the regression."""
    chance = np.random.default_rng(seed)
    caught = 0
    for _ in range(runs):
        after = before.copy()
        hit = chance.permutation(len(before))[: max(1, round(AFFECTED * len(before)))]
        after[hit] = np.minimum(1.0, after[hit] + REGRESSION)
        caught += bool(made_up_gate(before, after, rules, budget, chance).any())
    return caught / runs


def made_up_gate(
    before: Floats, after: Floats, rules: GateRules, budget: int, chance: np.random.Generator
) -> NDArray[np.bool_]:
    """Which subjects a gate would call harmed, if cases went as these rates say."""
    counts = np.zeros((3, len(before)), dtype=np.int64)
    room = np.full(len(before), budget, dtype=np.int64)
    chances = np.stack([after * (1 - before), before * (1 - after)])

    def draw(given: Ints) -> None:
        more = chance.binomial(given, chances[0])
        less = chance.binomial(given - more, np.clip(chances[1] / np.maximum(1 - chances[0], 1e-9), 0, 1))
        counts[0] += more
        counts[1] += less
        counts[2] += given

    draw(np.full(len(before), base_cases(budget, len(before)), dtype=np.int64))
    for turn in range(TURNS):
        logs = log_e_more(counts[0], counts[1], counts[2], rules.margin)
        draw(next_cases(logs, room, budget - int(counts[2].sum()), turn))
    logs = log_e_more(counts[0], counts[1], counts[2], rules.margin)
    return log_e_bh(logs, rules.level / 2)
