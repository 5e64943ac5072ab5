"""Findings that a judge's checks decide: which were missed, and the true rate behind the judged one.

A kind of hunt whose details of a finding have these three attributes gets corrected rates and the report's
list of what is missed most, whatever else its details hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Finding


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """The true failure rate behind the judged one, from the judge's known errors."""

    rate: float
    interval: tuple[float, float]


@runtime_checkable
class CheckedDetails(Protocol):
    """Details of a finding that a judge's checks decide: those of a node, or of a prompt of a list."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of its checks."""

    @property
    def missed(self) -> Mapping[str, int]: ...

    @property
    def corrected(self) -> CorrectedRate | None: ...


def corrected(finding: Finding, judge: JudgeAccuracy) -> Finding:
    """With the true failure rate behind the judged one."""
    details = finding.details
    if not isinstance(details, CheckedDetails) or details.corrected is not None:
        return finding
    passes, (low, high) = judge.correct(finding.trials - finding.failures, finding.failures, details.kinds)
    rate = CorrectedRate(1 - passes, (1 - high, 1 - low))
    return replace(finding, details=replace(finding.details, corrected=rate))
