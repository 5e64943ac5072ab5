"""Does failure follow data scarcity? Joins what a hunt tried with how often training data mentions it.

Pure, apart from reading the atlas. It relates; it does not prove a cause: subjects that are rare in the data
may also be hard, and a hunt tries what it expects to fail.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from failscape.attribution.counts import MentionCounts, key_of, layer_of
from failscape.errors import ConfigError
from failscape.evidence import HuntEvidence, SubjectCounts
from failscape.spaces.lattice import split_subject
from failscape.stats.intervals import clopper_pearson, grouped_share
from failscape.stats.ranks import rank_correlation
from failscape.trials import Finding

LEVEL = 0.95
#: With fewer entities than this (unequal ones count less), subjects are the units of an interval.
FEWEST_ENTITIES = 5
#: A failure rate up to this counts as passing, where the settings name no threshold.
PASSING = 0.2

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Subject:
    """What was tried, how it went, and how many captions mention it."""

    subject: str
    title: str
    entity: str
    layer: int
    count: int
    trials: int
    failures: int
    finding: bool

    @property
    def rate(self) -> float:
        return self.failures / self.trials


@dataclass(frozen=True, slots=True)
class Relation:
    """Rank correlation of count against failure rate. `layer` is the number of values, `None` for all.

    `rho` is `None` when all counts, or all rates, are equal.
    """

    layer: int | None
    subjects: int
    unit: str
    units: int
    rho: float | None
    interval: Span

    @property
    def sign(self) -> int:
        """-1 when failure clearly goes with scarcity, 1 with plenty, 0 when the interval holds 0."""
        if self.rho is None or self.interval[0] <= 0 <= self.interval[1]:
            return 0
        return -1 if self.interval[1] < 0 else 1


@dataclass(frozen=True, slots=True)
class CaptionBin:
    """Subjects whose count lies in `low` … `high`; `share` of their valid trials failed."""

    low: int
    high: int
    subjects: int
    findings: int
    trials: int
    failures: int
    share: float
    interval: Span

    @property
    def label(self) -> str:
        return f"{self.low:,}–{self.high:,}" if self.high > self.low else f"{self.low:,}"


@dataclass(frozen=True, slots=True)
class Odd:
    """A subject that goes against the rule. `above` is the share of tried subjects with a smaller count."""

    subject: str
    title: str
    count: int
    above: float
    trials: int
    failures: int
    rate: float
    interval: Span
    status: str = ""
    e_value: float | None = None


@dataclass(frozen=True, slots=True)
class Scarcity:
    """All that is said, as plain data.

    `untried` subjects had no valid trial; `uncounted` ones have more values than anything that was counted.
    """

    hunt: int
    source: str
    captions: int | None
    level: float
    limit: float
    subjects: list[Subject]
    untried: int
    uncounted: int
    relations: list[Relation]
    bins: list[CaptionBin]
    frequent_failing: list[Odd]
    rare_passing: list[Odd]

    @property
    def overall(self) -> Relation:
        return self.relations[0]

    @property
    def layers(self) -> list[Relation]:
        return self.relations[1:]

    @property
    def verdict(self) -> str:
        """One sentence. A rare subject often asks for more values, so layers have a say of their own."""
        sign, within = self.overall.sign, [layer.sign for layer in self.layers if layer.rho is not None]
        apart = len(self.layers) > 1 and sign not in within
        told = (
            (self.overall.rho is None, "Nothing can be said: all counts, or all failure rates, are equal."),
            (sign == 0, "No clear relation between scarcity and failure."),
            (apart, "Rare subjects fail differently, but not among subjects with equally many values."),
            (sign > 0, "Failure does not follow scarcity: frequent subjects fail more often."),
            (1 in within, "Failure follows scarcity over all, but not at every number of values."),
            (True, "Failure follows scarcity: rare subjects fail more often."),
        )
        return next(sentence for holds, sentence in told if holds)

    def as_data(self) -> dict[str, Any]:
        data = asdict(self)
        return {"hunt": data.pop("hunt"), "verdict": self.verdict, **data}


def relate(hunt: HuntEvidence, counts: MentionCounts) -> Scarcity:
    """Join a hunt with counts. A finding has the rate that every screen shows of it; any other subject that
    of all its trials in the search."""
    most = PASSING if hunt.limit is None else hunt.limit
    tried = {one.subject: one for one in hunt.subjects()}
    findings = {finding.subject: finding for finding in hunt.findings}
    subjects, untried, uncounted = [], 0, 0
    for subject, seen in tried.items():
        count, finding = counts.of(subject), findings.get(subject)
        if not seen.valid:
            untried += 1
        elif count is None:
            uncounted += 1
        else:
            subjects.append(_subject(seen, count, finding))
    # Counts of which none fits are a mistake, and would look like a hunt without any training data.
    known = [key_of(subject) for subject in tried]
    if not any(key in counts.numbers for key in known):
        theirs, ours = next(iter(counts.numbers), ""), next(iter(tried), "")
        raise ConfigError(
            f"{counts.source} counts {len(counts.numbers):,} subjects, such as {theirs!r}, "
            "but none of them was tried in this hunt",
            f"write subjects as the atlas does, such as {ours!r}",
        )
    return Scarcity(
        hunt=hunt.row.id,
        source=counts.source,
        captions=counts.captions,
        level=LEVEL,
        limit=most,
        subjects=subjects,
        untried=untried,
        uncounted=uncounted,
        relations=_relations(subjects),
        bins=_bins(subjects),
        frequent_failing=_frequent_failing(subjects, findings),
        rare_passing=_rare_passing(subjects, most),
    )


def _subject(seen: SubjectCounts, count: int, finding: Finding | None) -> Subject:
    subject = seen.subject
    entity, pairs = split_subject(subject)
    values = ", ".join(value for _, value in pairs)
    failures, trials = (finding.failures, finding.trials) if finding else (seen.fails, seen.valid)
    return Subject(
        subject,
        f"{entity}: {values}" if values else entity,
        entity,
        layer_of(subject),
        count,
        trials,
        failures,
        finding is not None,
    )


def _relations(subjects: Sequence[Subject]) -> list[Relation]:
    layers = sorted({subject.layer for subject in subjects})
    return [
        _relation(None, subjects),
        *(_relation(layer, [one for one in subjects if one.layer == layer]) for layer in layers),
    ]


def _relation(layer: int | None, subjects: Sequence[Subject]) -> Relation:
    unit, units = _units(subjects)
    # Ranks of log-frequency are ranks of counts, with 0 in the lowest place.
    found = rank_correlation([one.count for one in subjects], [one.rate for one in subjects], units, LEVEL)
    rho = found.rho if found.defined else None
    return Relation(layer, len(subjects), unit, found.units, rho, (found.low, found.high))


def _units(subjects: Sequence[Subject]) -> tuple[str, list[str]]:
    """Subjects of one entity are alike, so entities are what is sampled, unless too few carry the weight."""
    entities = [one.entity for one in subjects]
    squares = sum(size**2 for size in Counter(entities).values())
    # n² / Σ n_e² is the number of entities when all have equally many subjects, and near 1 when one has most.
    if subjects and len(subjects) ** 2 / squares >= FEWEST_ENTITIES:
        return "entity", entities
    return "subject", [one.subject for one in subjects]


def bin_edges(most: int) -> list[tuple[int, int]]:
    """0, 1–9, 10–99, … up to the largest count."""
    edges, low = [(0, 0)], 1
    while low <= most:
        edges.append((low, low * 10 - 1))
        low *= 10
    return edges


def _bins(subjects: Sequence[Subject]) -> list[CaptionBin]:
    bins = []
    for low, high in bin_edges(max((one.count for one in subjects), default=0)):
        inside = [one for one in subjects if low <= one.count <= high]
        if inside:
            failures, trials = [one.failures for one in inside], [one.trials for one in inside]
            share, interval = grouped_share(failures, trials, _units(inside)[1], LEVEL)
            found = sum(one.finding for one in inside)
            bins.append(
                CaptionBin(low, high, len(inside), found, sum(trials), sum(failures), share, interval)
            )
    return bins


def thirds(subjects: Sequence[Subject]) -> tuple[int, int]:
    """The largest count of the rarest third and the smallest of the most frequent third."""
    counts = sorted(one.count for one in subjects)
    size = -(-len(counts) // 3)
    return (counts[size - 1], counts[-size]) if counts else (0, 0)


def _frequent_failing(subjects: Sequence[Subject], findings: dict[str, Finding]) -> list[Odd]:
    """Findings come most certain first, and stay so."""
    rare, frequent = thirds(subjects)
    chosen = {one.subject: one for one in subjects if one.finding and rare < one.count >= frequent}
    return _odd(subjects, [chosen[subject] for subject in findings if subject in chosen], findings)


def _rare_passing(subjects: Sequence[Subject], limit: float) -> list[Odd]:
    rare, frequent = thirds(subjects)
    chosen = [
        one
        for one in subjects
        if not one.finding and one.rate <= limit + 1e-9 and frequent > one.count <= rare
    ]
    odd = _odd(subjects, chosen, {})
    return sorted(odd, key=lambda one: (one.interval[1], one.count, one.subject))


def _odd(subjects: Sequence[Subject], chosen: Sequence[Subject], findings: dict[str, Finding]) -> list[Odd]:
    if not chosen:
        return []
    counts = np.sort([one.count for one in subjects])
    above = np.searchsorted(counts, [one.count for one in chosen], side="left") / len(counts)
    low, high = clopper_pearson([one.failures for one in chosen], [one.trials for one in chosen], LEVEL)
    odd = []
    for at, one in enumerate(chosen):
        finding = findings.get(one.subject)
        span = (float(low[at]), float(high[at]))
        odd.append(
            Odd(
                one.subject,
                one.title,
                one.count,
                float(above[at]),
                one.trials,
                one.failures,
                one.rate,
                finding.interval if finding else span,
                finding.status if finding else "",
                finding.e_value if finding else None,
            )
        )
    return odd
