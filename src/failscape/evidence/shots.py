"""Trials as they are shown: pictures, what was decided, and what each was drawn for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failscape.atlas import StoredTrial
from failscape.evidence.marks import CheckTally, Mark, Quote, checks_of, lines_of, marks_of, tally
from failscape.evidence.rates import Rate, rate_of_counts, shown_rate
from failscape.trials import Finding, Verdict

ShotsOf = Callable[[str], Sequence["Shot"]]


@dataclass(frozen=True, slots=True)
class Shot:
    """One trial as it is shown: its pictures, what was decided about them, and the models' own words.

    `purpose` is what it was drawn for; `apart` trials do not follow the search and never count for their
    subject. `heeded`: nothing that was only noted is missing, so the picture shows what was asked for as far
    as anybody can say. Whether one counts for a finding is said by `ShotRow.counts`.
    """

    key: str
    seed: int
    verdict: Verdict
    reason: str
    images: tuple[str, ...]
    marks: tuple[Mark, ...]
    lines: tuple[Quote, ...]
    replies: tuple[Quote, ...]
    purpose: str = ""
    apart: bool = False
    heeded: bool = True

    @property
    def valid(self) -> bool:
        return self.verdict in (Verdict.PASS, Verdict.FAIL)


@dataclass(frozen=True, slots=True)
class ShotRow:
    """Shots of one subject, in the same order of seeds as the finding's own; `None` where it has none.

    `rate` is over the trials that count, shown or not; `counted` are their purposes, empty for all that
    are not apart. `only` says so where it is over some of the subject's trials alone.
    """

    subject: str
    title: str
    rate: Rate
    shots: tuple[Shot | None, ...]
    counted: tuple[str, ...] = ()
    only: str = ""

    def counts(self, shot: Shot) -> bool:
        """Whether a shot is one of those that the rate is over."""
        drawn_for_it = shot.purpose in self.counted if self.counted else not shot.apart
        return shot.valid and shot.heeded and drawn_for_it


@dataclass(frozen=True, slots=True)
class FindingEvidence:
    """A finding with its own row of shots, those of its parents, and how often each check was missed.

    Checks are tallied over the trials that count for the finding, so that they add up to its rate.
    """

    finding: Finding
    own: ShotRow
    parents: tuple[ShotRow, ...]
    tallies: tuple[CheckTally, ...]


def gather(
    finding: Finding,
    mine: Sequence[Shot],
    shots_of: ShotsOf,
    most_shots: int,
    most_parents: int,
    unit: str = "trial",
) -> FindingEvidence:
    """At most `most_shots` of `mine`, those first that count and that parents have at the same seed.

    A finding that names its trials by `keys` has pictures that nobody drew: no seed is shared with others.
    """
    parents = finding.parents[:most_parents]
    title = finding.caption or finding.title
    own = ShotRow(finding.subject, title, shown_rate(finding, unit), tuple(mine), finding.counted)
    theirs = [
        {shot.seed: shot for shot in (() if finding.keys else shots_of(str(one.get("subject", ""))))}
        for one in parents
    ]
    # Sorting is stable: among equally well matched seeds the order of trying stays.
    ranked = sorted(mine, key=lambda shot: (-sum(shot.seed in row for row in theirs), not own.counts(shot)))
    chosen = tuple(ranked[:most_shots])
    return FindingEvidence(
        finding,
        ShotRow(own.subject, own.title, own.rate, chosen, own.counted),
        tuple(_parent_row(one, shots, chosen, unit) for one, shots in zip(parents, theirs, strict=True)),
        tuple(tally(shot.marks for shot in mine if own.counts(shot))),
    )


def _parent_row(parent: dict[str, Any], shots: dict[int, Shot], beside: Sequence[Shot], unit: str) -> ShotRow:
    """The parent's numbers as the hunt gave them; counted from its trials where it gave none."""
    counted = [shot.verdict for shot in shots.values() if shot.valid and not shot.apart]
    failures = int(parent.get("failures", counted.count(Verdict.FAIL)))
    trials = int(parent.get("trials", len(counted)))
    only = str(parent.get("counted", ""))
    rate = rate_of_counts(failures, trials, only or f"valid {unit}s of this request that the search drew")
    subject = str(parent.get("subject", ""))
    title = str(parent.get("caption") or prompt_of(list(shots.values())) or parent.get("title") or subject)
    return ShotRow(subject, title, rate, tuple(shots.get(shot.seed) for shot in beside), only=only)


def prompt_of(shots: Sequence[Shot]) -> str:
    """The first prompt that was sent for a subject."""
    return next((line.text for shot in shots for line in shot.lines if line.label == "prompt"), "")


def shot_of(stored: StoredTrial, purpose: str = "", apart: bool = False) -> Shot:
    trial, steps = stored.trial, stored.steps
    # What a generator says about a picture it drew is not worth a line; its failure is.
    spoke = [call for call in stored.calls if call.invalid or (call.raw and call.role != "generator")]
    return Shot(
        trial.key,
        trial.seed,
        trial.verdict,
        trial.reason,
        tuple(digest for digest in stored.images if digest),  # imported trials have no pictures
        marks_of(steps, trial.facts),
        lines_of(steps, trial.facts),
        tuple(Quote(call.role, call.raw or call.invalid) for call in spoke),
        purpose,
        apart,
        not any(check.note and holds is False for check, holds in checks_of(steps, trial.facts)),
    )


def excused(shot: Shot) -> Shot:
    """A shot that failed and counts as passed: what was missed is left open."""
    marks = tuple(replace(mark, state="open") if mark.state == "no" else mark for mark in shot.marks)
    return replace(shot, verdict=Verdict.PASS, reason=f"excused: {shot.reason}", marks=marks)
