"""From pairs of results to what a comparison says: a paired e-process per subject, e-BH over all. Pure.

A case is all that was asked but for the model under test: a prompt with its seed and checks, or a picture
with the right label, or a picture with its question. Two results of one case make a pair.

All shared subjects are tested in both directions, not those alone that a search picked. e-values hold at any
moment of looking, so that pairs of both searches count although those chose how many to draw. Whether the two
models' verdicts come from the same judge is for the caller to see to: errors that hit both alike only shrink
a difference.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.notebooks import ShownInNotebooks
from failscape.stats.differences import anytime_difference, grouped_difference, log_e_more, pairs_needed
from failscape.stats.evalues import Floats, e_value_of_log, log_e_bh, log_e_value
from failscape.trials import Subject


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case on one model. Cases without a valid verdict are none.

    `fresh`: how many cases of its subject were drawn did not depend on how they went, so that its rate is
    honest. `sampled`: its subject was drawn at random, so that it speaks for the whole space.
    """

    subject: str
    case: str
    failed: bool
    fresh: bool = False
    sampled: bool = False
    key: str = ""


@dataclass(frozen=True)
class ModelResults:
    """What is known of one model. `claimed` are the subjects that its own search chose as failing."""

    name: str
    results: tuple[CaseResult, ...]
    claimed: frozenset[str] = frozenset()
    groups: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def group(self, subject: str) -> str:
        """The thing that a subject is about: its cases are alike."""
        return self.groups.get(subject) or Subject.parse(subject).name


class PairCounts(NamedTuple):
    """Pairs by who failed."""

    both: int = 0
    first_only: int = 0
    second_only: int = 0
    neither: int = 0

    @property
    def pairs(self) -> int:
        return sum(self)

    @property
    def first_failures(self) -> int:
        return self.both + self.first_only

    @property
    def second_failures(self) -> int:
        return self.both + self.second_only


class CasePair(NamedTuple):
    """The same case on two models."""

    first: CaseResult
    second: CaseResult

    @property
    def difference(self) -> int:
        """+1 where only the second fails, -1 where only the first does."""
        return int(self.second.failed) - int(self.first.failed)

    @property
    def fresh(self) -> bool:
        return self.first.fresh and self.second.fresh

    @property
    def sampled(self) -> bool:
        return self.first.sampled or self.second.sampled


@dataclass(frozen=True)
class SubjectPairs:
    """All pairs of one subject. `counted` are those that rates are shown of.

    Where a search claimed the subject, only pairs drawn apart from that claim count: what was picked because
    it failed looks worse than it is, and would seem mended by itself.
    """

    subject: str
    group: str
    pairs: tuple[CasePair, ...]
    claimed: bool = False

    @property
    def all(self) -> PairCounts:
        return counts_of(self.pairs)

    @property
    def counted(self) -> PairCounts:
        return counts_of(pair for pair in self.pairs if pair.fresh or not self.claimed)


def counts_of(pairs: Iterable[CasePair]) -> PairCounts:
    found = [0, 0, 0, 0]
    for first, second in pairs:
        found[2 * (not first.failed) + (not second.failed)] += 1
    return PairCounts(*found)


def pair_up(first: ModelResults, second: ModelResults) -> list[SubjectPairs]:
    """Every subject that both models have a case of in common, in the order of the first's results."""
    there = {(one.subject, one.case): one for one in second.results}
    found: dict[str, list[CasePair]] = {}
    seen: set[tuple[str, str]] = set()
    for one in first.results:
        place = (one.subject, one.case)
        if place in there and place not in seen:
            seen.add(place)
            found.setdefault(one.subject, []).append(CasePair(one, there[place]))
    claimed = first.claimed | second.claimed
    return [
        SubjectPairs(subject, first.group(subject), tuple(pairs), subject in claimed)
        for subject, pairs in found.items()
    ]


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
            "e_value": e_value_of_log(self.log_e),
            "second_e_value": e_value_of_log(self.second_log_e),
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
    """What the pairs can show: `needed` pairs of a subject prove a `CHANGE` with chance `POWER`."""

    needed: int
    have: int
    discordant: float

    @property
    def sentence(self) -> str:
        return (
            f"detects a {100 * CHANGE:.0f}-point change of a finding with {100 * POWER:.0f} % "
            f"at {self.needed:,} pairs; you have {self.have:,}"
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "change": CHANGE,
            "power": POWER,
            "needed": self.needed,
            "have": self.have,
            "discordant": self.discordant,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class PairedComparison(ShownInNotebooks):
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
    def totals(self) -> list[tuple[str, int, str]]:
        """Status, how many, and what it means."""
        return [(name, len(self.of_status(name)), says) for name, says in STATUSES.items()]

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


Flags = NDArray[np.bool_]

#: What the line about power is for: a change of five points, seen four times in five.
CHANGE, POWER = 0.05, 0.8

#: The share of pairs that differ, assumed while there are none to count.
USUAL_DISCORDANT = 0.15

#: With fewer pairs of a random sample, all pairs are taken for the overall rates instead.
FEWEST_SAMPLED = 40

#: With fewer things nothing can be said of others: the interval is about these very ones, pair by pair.
FEWEST_GROUPS = 8


def compare_results(
    first: ModelResults, second: ModelResults, rules: CompareRules | None = None
) -> PairedComparison:
    """Compare two models on every case that both have a valid result of."""
    rules = rules or CompareRules()
    subjects = pair_up(first, second)
    rows = _rows(subjects, rules, {**second.titles, **first.titles})
    return PairedComparison(
        first.name, second.name, rules, rows, overall_of(subjects), power_of(subjects, rules)
    )


def _rows(
    subjects: Sequence[SubjectPairs], rules: CompareRules, titles: dict[str, str]
) -> tuple[ComparedSubject, ...]:
    if not subjects:
        return ()
    counts = [one.all for one in subjects]
    table = np.array(counts, np.float64)
    worse, better = evidence(table)
    is_worse, is_better = proven(worse, better, rules.level)
    low, high = intervals(table)
    failing, passing = _against_limit(subjects, table, rules)
    certified = log_e_bh(failing, rules.level)
    rows = []
    for at, one in enumerate(subjects):
        status = UNDECIDED
        if is_better[at] and (not is_worse[at] or better[at] >= worse[at]):
            status = FIXED if passing[at] >= math.log(1 / rules.level) else BETTER
        elif is_worse[at]:
            status = NEW if certified[at] and _passed_before(one.all, rules.limit) else WORSE
        elif -rules.margin <= low[at] and high[at] <= rules.margin:
            status = UNCHANGED
        rows.append(
            ComparedSubject(
                one.subject,
                titles.get(one.subject, one.subject),
                one.group,
                status,
                one.all,
                one.counted,
                (float(low[at]), float(high[at])),
                float(max(worse[at], better[at])),
                float(failing[at]),
                one.claimed,
            )
        )
    order = list(STATUSES)
    return tuple(sorted(rows, key=lambda row: (order.index(row.status), -row.log_e, row.subject)))


def evidence(table: Floats) -> tuple[Floats, Floats]:
    """log e that the second is worse, and that it is better; a row of `table` is a `PairCounts`."""
    pairs = table.sum(axis=1)
    return log_e_more(table[:, 2], table[:, 1], pairs), log_e_more(table[:, 1], table[:, 2], pairs)


#: log e from which on the two-sided 95 % interval of `intervals` lies on one side of 0.
BESIDE_ZERO = math.log(2 / 0.05)


def proven(worse: Floats, better: Floats, level: float) -> tuple[Flags, Flags]:
    """Which differences e-BH claims, over all subjects and both directions.

    Evidence that leaves 0 in the interval counts as none, so that no claim stands beside such an interval.
    Less than an e-value is still an e-value: the claims are as valid.
    """
    logs = np.concatenate([worse, better])
    claimed = log_e_bh(np.where(logs >= BESIDE_ZERO, logs, -np.inf), level)
    return claimed[: len(worse)], claimed[len(worse) :]


def intervals(table: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Anytime-valid intervals of the differences. Many subjects have the same counts: each is done once."""
    counts = np.column_stack([table[:, 2], table[:, 1], table.sum(axis=1)])
    distinct, places = np.unique(counts, axis=0, return_inverse=True)
    low, high = anytime_difference(distinct[:, 0], distinct[:, 1], distinct[:, 2], level)
    return low[places.ravel()], high[places.ravel()]


def _against_limit(
    subjects: Sequence[SubjectPairs], table: Floats, rules: CompareRules
) -> tuple[Floats, Floats]:
    """log e that the second fails more often than the limit, and that it fails less often."""
    failures, total = table[:, 0] + table[:, 2], table.sum(axis=1)
    limits = np.clip([rules.limits_of(one.subject) for one in subjects], 1e-6, 1 - 1e-6)
    failing = log_e_value(total - failures, failures, 1 - limits[:, 0])
    passing = log_e_value(failures, total - failures, limits[:, 1])
    return failing, passing


def _passed_before(counts: PairCounts, limit: float) -> bool:
    return counts.first_failures <= limit * counts.pairs


def overall_of(subjects: Sequence[SubjectPairs]) -> OverallDifference | None:
    """The share of failures of each, over a random sample where there is one."""
    everything = [(one.group, pair) for one in subjects for pair in one.pairs]
    sampled = [(group, pair) for group, pair in everything if pair.sampled]
    if len(sampled) < FEWEST_SAMPLED:
        counted = "pairs in all, as the searches chose them"
        return overall_difference(everything, counted) if everything else None
    # A table of somebody else has no search: all of it is the sample.
    whole = len(sampled) == len(everything)
    return overall_difference(sampled, "pairs in all" if whole else "pairs of the random sample")


def overall_difference(pairs: Sequence[tuple[str, CasePair]], counted: str) -> OverallDifference:
    groups = [group for group, _ in pairs]
    alike: Sequence[str | int] = groups if len(set(groups)) >= FEWEST_GROUPS else range(len(pairs))
    difference, interval = grouped_difference([pair.difference for _, pair in pairs], alike)
    return OverallDifference(
        sum(pair.first.failed for _, pair in pairs) / len(pairs),
        sum(pair.second.failed for _, pair in pairs) / len(pairs),
        difference,
        interval,
        len(pairs),
        len(set(groups)),
        counted,
    )


def power_of(subjects: Sequence[SubjectPairs], rules: CompareRules) -> PowerLine:
    """What one more finding would take. `have` is the median of the claimed subjects, else of all."""
    counts = [one.all for one in subjects]
    total = sum(one.pairs for one in counts)
    differ = sum(one.first_only + one.second_only for one in counts)
    discordant = differ / total if total else USUAL_DISCORDANT
    needed = math.log(2 * max(len(counts), 1) / rules.level)
    claimed = [one.all.pairs for one in subjects if one.claimed] or [one.pairs for one in counts]
    have = int(np.median(claimed)) if claimed else 0
    return PowerLine(pairs_needed(CHANGE, discordant, needed, POWER), have, discordant)
