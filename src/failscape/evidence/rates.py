"""Rates with a named denominator: each number that people see says what it is a share of. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from failscape.stats.intervals import clopper_pearson
from failscape.trials import Finding

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rate:
    """`failures` of `of` failed. `counted` says in words what is counted; `interval` is that of `rate`.

    Where the judge's errors are reckoned with, `rate` is the true rate behind the judged `failures / of`.
    """

    failures: int
    of: int
    rate: float
    interval: Interval
    counted: str = ""
    corrected: bool = False

    @property
    def known(self) -> bool:
        return self.of > 0


def rate_of_counts(failures: int, of: int, counted: str = "") -> Rate:
    """With the exact 95 % interval, for numbers of trials that did not depend on how they went."""
    low, high = clopper_pearson(failures, of)
    return Rate(failures, of, failures / of if of else 0.0, (float(low), float(high)), counted)


def judged_rate(finding: Finding, unit: str = "trial") -> Rate:
    """The rate as the judge saw it."""
    return Rate(
        finding.failures, finding.trials, finding.rate, finding.interval, counted_words(finding, unit)
    )


def shown_rate(finding: Finding, unit: str = "trial") -> Rate:
    """The one rate of a finding that every screen shows: without the judge's errors where these are known."""
    rate = judged_rate(finding, unit)
    known = finding.details_data.get("corrected")
    if not known:
        return rate
    low, high = known["interval"]
    words = f"{rate.counted}; the judge’s errors are allowed for"
    return replace(rate, rate=float(known["rate"]), interval=(low, high), counted=words, corrected=True)


def counted_words(finding: Finding, unit: str) -> str:
    """The denominator of a finding's rate: which of its trials are counted."""
    drawn = f" drawn as {' or '.join(finding.counted)}" if finding.counted else ""
    return f"valid {unit}s of this very request{drawn}"


def missing_of(finding: Finding) -> str:
    """What a suspect lacks to be claimed, in words; empty for findings."""
    return str(finding.details_data.get("missing") or "")
