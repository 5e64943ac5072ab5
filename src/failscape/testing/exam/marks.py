"""Marks of the exam: what an oracle could prove, what was named, what was false, what was hidden. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from failscape.stats.differences import log_excess, log_excess_grid
from failscape.stats.evalues import log_e_value
from failscape.stats.intervals import clopper_pearson

#: Largest expected share of false claims, as hunts promise it.
LEVEL = 0.05

#: A bug counts as provable if an oracle that knows all bugs could prove them this many times over.
TIMES_OVER = 10

#: A bug with so many recorded failures more than its limit allows has to be a claim, a suspect, or seen.
SEEN_FAILURES = 10


@dataclass(frozen=True, slots=True)
class BugCost:
    """The failure rate of a planted bug, and the rate that a claim has to exceed.

    `usable` is the share of trials that count, where only those do in which a judge sees the bug.
    """

    rate: float
    limit: float
    usable: float = 1.0


@dataclass(frozen=True, slots=True)
class WorldMark:
    """One world of the exam.

    `traits` are name → value, for tables. `noticed` of the `noticeable` bugs are claims, suspects or seen.
    `idle` is the part of the budget that was left without a reason.
    """

    seed: int
    traits: dict[str, str]
    planted: int
    provable: int
    named: int
    named_provable: int
    claims: int
    false_claims: int
    noticeable: int
    noticed: int
    used: int
    idle: int
    seconds: float

    @property
    def false_share(self) -> float:
        return self.false_claims / self.claims if self.claims else 0.0

    @property
    def named_share(self) -> float | None:
        return self.named_provable / self.provable if self.provable else None


def provable_bugs(
    bugs: Sequence[Sequence[BugCost]], budget: int, margin: float, *, plain: bool = True
) -> list[int]:
    """Places of the bugs that an oracle proves `TIMES_OVER` times within the budget, the cheapest first.

    The oracle knows all bugs and tests nothing else, so e-BH asks 1 / `LEVEL` of each. With `plain`, rates
    are held against plain trials, of which a test takes one beside each of its own. Each bug may be proven in
    several ways, such as with and without a judge; the oracle takes the cheapest.
    """
    costs = [
        (min(oracle_trials(way, budget, margin, plain=plain) for way in ways), place)
        for place, ways in enumerate(bugs)
    ]
    found: list[int] = []
    left = budget / TIMES_OVER
    for cost, place in sorted(costs):
        left -= cost
        if left < 0:
            break
        found.append(place)
    return found


def oracle_trials(bug: BugCost, most: int, margin: float, *, plain: bool) -> float:
    """Trials that a proof takes if rates turn out as they are; infinite if it takes more than `most`."""
    trials = 2
    while trials <= most:
        fails = trials * bug.rate
        passes = trials - fails
        if plain:
            usual = max(0.0, bug.limit - margin)
            base = log_excess_grid(trials * usual, trials * (1 - usual))
            evidence = float(log_excess(base, [fails], [passes], margin)[0])
        else:
            evidence = float(log_e_value(passes, fails, 1 - bug.limit))
        if evidence >= math.log(1 / LEVEL):
            return trials / bug.usable + (trials if plain else 0)
        trials = math.ceil(1.1 * trials)
    return math.inf


@dataclass(slots=True)
class ExamResult:
    """All marks, with the figures that the exam is judged by."""

    marks: list[WorldMark] = field(default_factory=list)

    def named_share(self) -> float:
        """Share of provable bugs that are claimed by just their name, over all worlds."""
        provable = sum(mark.provable for mark in self.marks)
        return sum(mark.named_provable for mark in self.marks) / provable if provable else 1.0

    def worst_tenth(self) -> float:
        """The same in the worst tenth of the worlds that have provable bugs."""
        shares = sorted(share for mark in self.marks if (share := mark.named_share) is not None)
        number = max(1, len(shares) // 10)
        return float(np.mean(shares[:number])) if shares else 1.0

    def false_share(self) -> float:
        """The expected share of false claims: the mean over worlds."""
        return float(np.mean([mark.false_share for mark in self.marks])) if self.marks else 0.0

    def false_share_bound(self) -> float:
        """Upper 95 % bound of the share of false claims, over all claims together."""
        claims = sum(mark.claims for mark in self.marks)
        false = sum(mark.false_claims for mark in self.marks)
        return float(clopper_pearson(false, claims)[1]) if claims else 1.0

    def noticed_share(self) -> float:
        """Share of bugs with many recorded failures that are claims, suspects or listed as seen."""
        noticeable = sum(mark.noticeable for mark in self.marks)
        return sum(mark.noticed for mark in self.marks) / noticeable if noticeable else 1.0

    def milliseconds(self) -> float:
        """Own time per trial."""
        used = sum(mark.used for mark in self.marks)
        return 1000 * sum(mark.seconds for mark in self.marks) / used if used else 0.0

    def row(self, name: str) -> list[str]:
        """One line of a table."""
        provable = sum(mark.provable for mark in self.marks)
        named = sum(mark.named_provable for mark in self.marks)
        claims = sum(mark.claims for mark in self.marks)
        false = sum(mark.false_claims for mark in self.marks)
        return [
            name,
            str(len(self.marks)),
            f"{named} of {provable} ({self.named_share():.0%})",
            f"{self.worst_tenth():.0%}",
            f"{false} of {claims} (≤ {self.false_share_bound():.1%})",
            f"{self.noticed_share():.0%}",
            str(sum(mark.idle for mark in self.marks)),
            f"{self.milliseconds():.2f}",
        ]


HEAD = (
    "worlds",
    "number",
    "provable bugs named exactly",
    "worst tenth",
    "false claims (upper 95 %)",
    "bugs with 10 extra failures noticed",
    "budget left over",
    "ms a trial",
)


def table(marks: Iterable[WorldMark]) -> str:
    """The exam's table: all worlds, then by trait."""
    everything = list(marks)
    rows = [list(HEAD), ["---"] * len(HEAD), ExamResult(everything).row("all")]
    names = list(everything[0].traits) if everything else []
    for name in names:
        values = sorted({mark.traits[name] for mark in everything})
        if len(values) > 1:
            for value in values:
                some = [mark for mark in everything if mark.traits[name] == value]
                rows.append(ExamResult(some).row(f"{name}: {value}"))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
