"""How often a gate stops a model that is as good as the last one, and how often it misses a worse one.

    python -m benchmarks.gate [--runs 200] [--seed 33]

Planted models that err independently, 80 subjects. *No change*: rates as hunts find them, the same for both
models, 1,500 trials. *Regression*: ten points more failures on 4 of the 80, at the budget that the gate's own
line about power names.
"""

from __future__ import annotations

import argparse

import numpy as np

from failscape.again.harm import (
    TURNS,
    GateRules,
    GateVerdict,
    Ints,
    base_cases,
    gate_power,
    judge_harm,
    next_cases,
)
from failscape.stats.differences import log_e_more
from failscape.stats.evalues import Floats

SUBJECTS, REGRESSED, TRIALS = 80, 4, 1_500
RULES = GateRules()


def gate_fails(rng: np.random.Generator, before: Floats, after: Floats, budget: int) -> bool:
    """A whole gate on made-up cases: base, turns, verdict."""
    counts = np.zeros((3, len(before)), dtype=np.int64)
    room = np.full(len(before), budget)

    def draw(given: Ints) -> list[tuple[str, int]]:
        found = []
        for at in np.flatnonzero(given):
            first, second = rng.random((2, given[at])) < np.array([[before[at]], [after[at]]])
            counts[:, at] += (second & ~first).sum(), (first & ~second).sum(), given[at]
            found += [(f"thing {at // 5}", int(one)) for one in second.astype(int) - first]
        return found

    base = draw(np.full(len(before), base_cases(budget, len(before))))
    for turn in range(TURNS):
        logs = log_e_more(counts[0], counts[1], counts[2], RULES.margin)
        draw(next_cases(logs, room, budget - int(counts[2].sum()), turn))
    more, less, pairs = counts.astype(np.float64)
    return judge_harm(base, more, less, pairs, RULES).verdict is GateVerdict.FAILED


def false_alarms(runs: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    rates = [rng.beta(0.6, 2.0, SUBJECTS) for _ in range(runs)]
    return sum(gate_fails(rng, one, one, TRIALS) for one in rates)


def caught(runs: int, seed: int) -> tuple[int, int]:
    """How many gates fail, and the budget that the line about power names."""
    rng = np.random.default_rng(seed)
    before = np.full(SUBJECTS, 0.1)
    after = before.copy()
    after[:REGRESSED] += 0.1
    budget = gate_power(before.tolist(), RULES, 0).needed
    return sum(gate_fails(rng, before, after, budget) for _ in range(runs)), budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=33)
    given = parser.parse_args()
    alarms = false_alarms(given.runs, given.seed)
    print(f"no change, {TRIALS:,} trials: {alarms} of {given.runs} gates raise an alarm", flush=True)
    found, budget = caught(given.runs, given.seed + 1)
    print(f"regression, {budget:,} trials: {found} of {given.runs} gates fail", flush=True)


if __name__ == "__main__":
    main()
