"""One row for a finding: what the table, CSV, JSON, viewer, report, exports, dataset and pandas show of it.

A new column is a field of `FindingRow` and a line in `finding_row`. Filters and sort orders are here too, the
same for the terminal and the viewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from failscape.atlas import Atlas, StoredTrial
from failscape.errors import ConfigError, suggest
from failscape.trials import Finding, Status
from failscape.views.read.findings import short_title
from failscape.views.read.hunt import HuntEvidence, Place
from failscape.views.read.shots import Mark, Rate, ShotRow, judged_rate, missing_of

#: The version of a row, `version` in `findings --json`. Rows without one are from 0.2: there `rate` and
#: `interval` were those that the judge saw, here they allow for its errors, as on every screen.
ROW_VERSION = 2

ALL = "all"

#: The columns of `to_pandas()` with their types: the fields of `FindingRow.as_data`, in their order.
FINDING_COLUMNS: dict[str, type] = {
    "number": int,
    "subject": str,
    "title": str,
    "caption": str,
    "status": str,
    "class": str,
    "thing": str,
    "attributes": list,
    "failures": int,
    "trials": int,
    "invalid": int,
    "counted": str,
    "rate": float,
    "low": float,
    "high": float,
    "corrected": bool,
    "judged_rate": float,
    "e_value": float,
    "missing": str,
}

#: The columns of `to_pandas("trials")`.
TRIAL_COLUMNS: dict[str, type] = {
    "key": str,
    "subject": str,
    "seed": int,
    "verdict": str,
    "reason": str,
    "images": list,
    "seconds": float,
}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding or suspect as it is shown. Text in `missing` says what a suspect lacks to be claimed.

    `number` is its place, from 1: findings in the order of certainty, then suspects. `group` is its class
    (of its thing, of its picture, or its form of question), `thing` what it is about, `attributes` the rows
    of the map that it lies in; they are empty where the kind of hunt has no map.

    `failures` of `trials` failed; `counted` says in words which trials these are. `rate` with its 95 %
    interval from `low` to `high` allows for the judge's errors where they are known (`corrected`);
    `judged_rate` and `judged_interval` are what the judge saw.
    """

    number: int
    subject: str
    title: str
    short_title: str
    caption: str
    status: Status
    group: str
    thing: str
    attributes: tuple[str, ...]
    failures: int
    trials: int
    invalid: int
    counted: str
    rate: float
    low: float
    high: float
    corrected: bool
    judged_rate: float
    judged_interval: tuple[float, float]
    e_value: float
    missing: str
    finding: Finding = field(repr=False, compare=False)

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def searched_text(self) -> str:
        """What a search for words looks at."""
        return f"{self.title} {self.caption} {self.subject} {self.status}".casefold()

    def as_data(self) -> dict[str, Any]:
        """The columns of CSV, pandas and the viewer, and the first fields of `findings --json`."""
        return {
            "number": self.number,
            "subject": self.subject,
            "title": self.title,
            "caption": self.caption,
            "status": self.status.value,
            "class": self.group,
            "thing": self.thing,
            "attributes": list(self.attributes),
            "failures": self.failures,
            "trials": self.trials,
            "invalid": self.invalid,
            "counted": self.counted,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "corrected": self.corrected,
            "judged_rate": self.judged_rate,
            "e_value": self.e_value,
            "missing": self.missing,
        }


class RatedHunt(Protocol):
    """What rows are made from: a hunt that can say where a subject lies and what its rate is."""

    @property
    def place(self) -> Callable[[str], Place | None]: ...

    def rate(self, finding: Finding) -> Rate: ...


class ReadHunt(RatedHunt, Protocol):
    """A hunt with what it found."""

    @property
    def findings(self) -> Sequence[Finding]: ...

    @property
    def suspects(self) -> Sequence[Finding]: ...


def finding_row(hunt: RatedHunt, number: int, finding: Finding) -> FindingRow:
    """The row of one finding. Its rate is the one that every screen shows (`shown_rate`)."""
    place = hunt.place(finding.subject)
    rate = hunt.rate(finding)
    judged = judged_rate(finding)
    low, high = rate.interval
    return FindingRow(
        number=number,
        subject=finding.subject,
        title=finding.title,
        short_title=short_title(finding),
        caption=finding.caption,
        status=finding.status,
        group=place.column if place else "",
        thing=place.about if place else "",
        attributes=place.rows if place else (),
        failures=rate.failures,
        trials=rate.of,
        invalid=finding.invalid,
        counted=rate.counted,
        rate=rate.rate,
        low=low,
        high=high,
        corrected=rate.corrected,
        judged_rate=judged.rate,
        judged_interval=judged.interval,
        e_value=finding.e_value,
        missing=missing_of(finding),
        finding=finding,
    )


def finding_rows(hunt: ReadHunt) -> list[FindingRow]:
    """All findings, then all suspects."""
    listed = [*hunt.findings, *hunt.suspects]
    return [finding_row(hunt, number, finding) for number, finding in enumerate(listed, 1)]


#: Name of an order → what it sorts by. Equal ones stay in the order of certainty.
SORTS: dict[str, Callable[[FindingRow], Any]] = {
    "certain": lambda row: row.number,
    "rate": lambda row: -row.rate,
    "low": lambda row: -row.low,
    "trials": lambda row: -row.trials,
    "title": lambda row: row.title.casefold(),
}


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """`statuses` empty: all findings, no suspects. `words` must all occur; `least` is a share of failures.

    `group`, `thing` and `attribute` are names on the map; case does not matter.
    """

    statuses: tuple[str, ...] = ()
    words: str = ""
    group: str = ""
    least: float = 0.0
    sort: str = "certain"
    thing: str = ""
    attribute: str = ""

    def __post_init__(self) -> None:
        for status in self.statuses:
            known = [*Status.words(), ALL]
            if status not in known:
                raise ConfigError(f"there is no status {status!r}", suggest(status, known))
        if self.sort not in SORTS:
            raise ConfigError(f"findings cannot be sorted by {self.sort!r}", suggest(self.sort, SORTS))

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> FindingFilter:
        """The filter that an address of the viewer asks for; suspects are in its list unless told."""
        return cls(
            statuses=(query.get("status") or ALL,),
            words=query.get("text", ""),
            group=query.get("class", ""),
            least=_share(query.get("least", "")),
            sort=query.get("sort") or "certain",
            thing=query.get("thing", ""),
            attribute=query.get("attribute", ""),
        )


def _share(percent: str) -> float:
    try:
        return float(percent) / 100
    except ValueError:
        return 0.0


def select(rows: Iterable[FindingRow], wanted: FindingFilter) -> list[FindingRow]:
    """The rows that fit, in the order asked for."""
    words = wanted.words.casefold().split()
    kept = [
        row
        for row in rows
        if _has_status(row, wanted.statuses)
        and row.rate >= wanted.least
        and _is_named(wanted.group, [row.group])
        and _is_named(wanted.thing, [row.thing])
        and _is_named(wanted.attribute, row.attributes)
        and _has_words(row, words)
    ]
    return sorted(kept, key=SORTS[wanted.sort])


def check_group(rows: Iterable[FindingRow], group: str) -> None:
    """Raise `ConfigError` where nothing was found in a class: most likely its name is misspelt."""
    known = sorted({row.group for row in rows} - {""})
    if group and group.casefold() not in {name.casefold() for name in known}:
        raise ConfigError(f"nothing was found in class {group!r}", suggest(group, known))


def _has_status(row: FindingRow, statuses: tuple[str, ...]) -> bool:
    if not statuses:
        return row.status.is_claimed
    return ALL in statuses or row.status in statuses


def _has_words(row: FindingRow, words: Sequence[str]) -> bool:
    text = row.searched_text if words else ""
    return all(word in text for word in words)


def _is_named(wanted: str, names: Sequence[str]) -> bool:
    return not wanted or wanted.casefold() in {name.casefold() for name in names}


def trial_data(stored: StoredTrial) -> dict[str, Any]:
    """A trial as `to_pandas("trials")` shows it: `TRIAL_COLUMNS`."""
    return {
        "key": stored.trial.key,
        "subject": stored.trial.subject,
        "seed": stored.trial.seed,
        "verdict": stored.trial.verdict.value,
        "reason": stored.trial.reason,
        "images": list(stored.images),
        "seconds": stored.seconds,
    }


def finding_records(hunt: HuntEvidence, rows: Iterable[FindingRow]) -> Iterator[dict[str, Any]]:
    """The objects of `findings --json`: rows, and all trials of each, whatever they were drawn for."""
    for row in rows:
        finding = row.finding
        stored = list(hunt.trials_of(finding))
        shots = ShotRow(finding.subject, finding.title, hunt.rate(finding), (), finding.counted)
        yield {
            "version": ROW_VERSION,
            "hunt": hunt.row.id,
            "kind": hunt.row.kind,
            **row.as_data(),
            "interval": list(row.interval),
            "judged_interval": list(row.judged_interval),
            "images_used": sum(len(one.images) for one in stored),
            "parents": list(finding.parents),
            "details": finding.details_data,
            "seeds": [one.trial.seed for one in stored],
            "image_files": [file for one in stored for file in _files(hunt.atlas, one)],
            "evidence": [_trial_record(hunt, shots, one) for one in stored],
        }


def _trial_record(hunt: HuntEvidence, row: ShotRow, stored: StoredTrial) -> dict[str, Any]:
    """`counted`: whether it is one of the trials that the finding's rate is over."""
    shot = hunt.shot(stored)
    return {
        "key": shot.key,
        "seed": shot.seed,
        "verdict": shot.verdict.value,
        "reason": shot.reason,
        "purpose": shot.purpose,
        "counted": row.counts(shot),
        "checks": {mark.text: _holds(mark) for mark in shot.marks},
        "images": _files(hunt.atlas, stored),
    }


def _holds(mark: Mark) -> bool | None:
    return None if mark.state == "open" else mark.state == "yes"


def _files(atlas: Atlas, stored: StoredTrial) -> list[str | None]:
    """One name per picture; `None` where it was not kept."""
    return [atlas.images.name(digest) for digest in stored.images]
