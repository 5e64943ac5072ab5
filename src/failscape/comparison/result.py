"""What a comparison says, as typed data and as plain JSON data. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from failscape.comparison.pairs import PairCounts

Interval = tuple[float, float]

FIXED, BETTER, UNCHANGED = "fixed", "better", "unchanged"
WORSE, NEW, UNDECIDED = "worse", "new", "undecided"

#: What became of a subject, and what each word says.
STATUSES = {
    FIXED: "proven to fail less often than before, and shown at or above the threshold",
    BETTER: "proven to fail less often than before",
    UNCHANGED: "the difference is shown to lie within the margin",
    WORSE: "proven to fail more often than before",
    NEW: "passed before, proven to fail more often, and certified failing now",
    UNDECIDED: "the pairs do not tell yet",
}

PROVEN = (FIXED, BETTER, WORSE, NEW)


@dataclass(frozen=True)
class CompareRules:
    """How much it takes. `limit` is the failure rate above which a subject counts as failing (1 − τ).

    `level`: among all differences claimed, this share at most is expected to be false. `margin` is the
    difference of failure rates that does not matter. `limits` overrides `limit` per subject by two: the
    judged failure rate above which it truly fails, and the one below which it truly passes.
    """

    limit: float = 0.2
    level: float = 0.05
    margin: float = 0.05
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def limits_of(self, subject: str) -> tuple[float, float]:
        return self.limits.get(subject, (self.limit, self.limit))


@dataclass(frozen=True)
class ComparedSubject:
    """One subject on two models. Rates are failure rates over `counted` pairs, `None` where there are none.

    `difference` is the second's minus the first's over the same pairs; `interval` is over all pairs and holds
    whenever one stopped. `e_value` is the evidence in the direction seen, `second_e_value` that the second
    fails more often than allowed.
    """

    subject: str
    title: str
    group: str
    status: str
    all: PairCounts
    counted: PairCounts
    interval: Interval
    log_e: float
    second_log_e: float
    claimed: bool = False

    @property
    def first_rate(self) -> float | None:
        return self.counted.first_failures / self.counted.pairs if self.counted.pairs else None

    @property
    def second_rate(self) -> float | None:
        return self.counted.second_failures / self.counted.pairs if self.counted.pairs else None

    @property
    def difference(self) -> float | None:
        if not self.counted.pairs:
            return None
        return (self.counted.second_only - self.counted.first_only) / self.counted.pairs

    def as_data(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "title": self.title,
            "group": self.group,
            "status": self.status,
            "pairs": self.all.pairs,
            "counted": self.counted.pairs,
            "counts": self.all._asdict(),
            "counted_counts": self.counted._asdict(),
            "rates": [self.first_rate, self.second_rate],
            "difference": self.difference,
            "interval": list(self.interval),
            "e_value": _exp(self.log_e),
            "second_e_value": _exp(self.second_log_e),
            "claimed_before": self.claimed,
        }


@dataclass(frozen=True)
class OverallDifference:
    """Over all pairs of a kind: which ones is said by `counted`. `log_e` is the evidence for harm above 0."""

    first_rate: float
    second_rate: float
    difference: float
    interval: Interval
    pairs: int
    groups: int
    counted: str

    def as_data(self) -> dict[str, Any]:
        return {
            "rates": [self.first_rate, self.second_rate],
            "difference": self.difference,
            "interval": list(self.interval),
            "pairs": self.pairs,
            "groups": self.groups,
            "counted": self.counted,
        }


@dataclass(frozen=True)
class PowerLine:
    """What the pairs can show: `needed` pairs of a subject prove a `change` with chance `power`."""

    change: float
    power: float
    needed: int
    have: int
    discordant: float

    @property
    def sentence(self) -> str:
        return (
            f"detects a {100 * self.change:.0f}-point change of a finding with {100 * self.power:.0f} % "
            f"at {self.needed:,} pairs; you have {self.have:,}"
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "change": self.change,
            "power": self.power,
            "needed": self.needed,
            "have": self.have,
            "discordant": self.discordant,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class PairedComparison:
    """Two models on the same cases: every shared subject has one row."""

    first: str
    second: str
    rules: CompareRules
    rows: tuple[ComparedSubject, ...]
    overall: OverallDifference | None
    power: PowerLine
    notes: tuple[str, ...] = ()

    def of_status(self, status: str) -> list[ComparedSubject]:
        return [row for row in self.rows if row.status == status]

    @property
    def pairs(self) -> int:
        return sum(row.all.pairs for row in self.rows)

    def as_data(self) -> dict[str, Any]:
        """One object: a list per status, `overall`, `power`."""
        return {
            "models": [self.first, self.second],
            "rules": {"limit": self.rules.limit, "level": self.rules.level, "margin": self.rules.margin},
            **{status: [row.as_data() for row in self.of_status(status)] for status in STATUSES},
            "overall": self.overall.as_data() if self.overall else None,
            "power": self.power.as_data(),
            "notes": list(self.notes),
        }


def _exp(log_e: float) -> float:
    """Capped at the largest float, so that JSON can hold it."""
    return math.exp(min(log_e, 709.0))
