"""Findings and suspects: a long list to filter and sort, and everything about one of them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from failscape.evidence import HuntEvidence, Shot, ShotRow, missing_of
from failscape.evidence.shots import rate_of_counts
from failscape.report import sections
from failscape.report.figures.basic import number as number_text
from failscape.report.figures.basic import percent, spread
from failscape.stats.intervals import exact_interval
from failscape.trials import STATUSES, Finding, Verdict
from failscape.web.library import OpenHunt


def rate_data(rate: float, interval: tuple[float, float]) -> dict[str, Any]:
    """A rate with its interval, and both as they are written everywhere."""
    low, high = interval
    return {
        "rate": rate,
        "low": low,
        "high": high,
        "rate_text": percent(rate),
        "spread_text": spread((low, high)),
    }


def counted_rate(failures: int, valid: int) -> dict[str, Any]:
    share = failures / valid if valid else float("nan")
    return {**rate_data(share, exact_interval(failures, valid)), "failures": failures, "trials": valid}


Data = dict[str, Any]

LARGEST_PAGE = 400
MOST_FACETS = 60
SHOTS = 400
PARENTS = 6
FACETS = ("status", "class", "thing", "attribute")

SORTS: dict[str, Callable[[Data], Any]] = {
    "": lambda row: row["number"],
    "rate": lambda row: (-row["rate"], -row["trials"]),
    "certain": lambda row: -row["low"],
    "trials": lambda row: -row["trials"],
    "title": lambda row: row["title"],
}


def finding_row(hunt: OpenHunt, number: int, finding: Finding) -> Data:
    """One line of the list. Rates allow for the judge's errors where these are known."""
    place = hunt.place(finding.subject)
    rate = hunt.reader.rate(finding)
    return {
        **rate_data(rate.rate, rate.interval),
        "counted": rate.counted,
        "number": number,
        "subject": finding.subject,
        "title": finding.title,
        "caption": finding.caption,
        "status": finding.status,
        "failures": finding.failures,
        "trials": finding.trials,
        "invalid": finding.invalid,
        "missing": missing_of(finding),
        "class": place.column if place else "",
        "thing": place.about if place else "",
        "attribute": list(place.rows) if place else [],
    }


def findings(hunt: OpenHunt, query: Mapping[str, str]) -> Data | None:
    """A page of the list after filters, with how many there are per facet; `None` until the hunt is read."""
    rows = hunt.derived("findings", lambda loaded: _all_rows(hunt, loaded))
    if rows is None:
        return None
    kept = [row for row in rows if _wanted(row, query)]
    kept.sort(key=SORTS.get(query.get("sort", ""), SORTS[""]))
    start, many = page_of(query)
    return {
        "total": len(kept),
        "all": len(rows),
        "as_of": hunt.as_of,
        "rows": [_shown(hunt, row, query.get("view") == "cards") for row in kept[start : start + many]],
        "facets": {name: _facet(kept, name) for name in FACETS},
    }


def _shown(hunt: OpenHunt, row: Data, pictured: bool) -> Data:
    """A row as it is sent: without what only filters need, on cards with the first picture that failed."""
    failed = (
        shot.images[-1]
        for shot in (hunt.reader.shots(row["subject"]) if pictured else ())
        if shot.verdict is Verdict.FAIL and shot.images and not shot.apart
    )
    return {**row, "search": None, "image": next(failed, "")}


def _all_rows(hunt: OpenHunt, loaded: HuntEvidence) -> list[Data]:
    """Findings, then suspects, most promising first."""
    listed = [*loaded.findings, *loaded.suspects]
    rows = [finding_row(hunt, number, one) for number, one in enumerate(listed, 1)]
    for row in rows:
        row["search"] = f"{row['title']} {row['caption']} {row['subject']} {row['status']}".casefold()
    return rows


def page_of(query: Mapping[str, str]) -> tuple[int, int]:
    """First row and number of rows asked for, within reason."""
    return _whole(query.get("start"), 0, 10**9), _whole(query.get("many"), 100, LARGEST_PAGE)


def _whole(text: str | None, otherwise: int, most: int) -> int:
    return min(int(text), most) if text and text.isascii() and text.isdigit() else otherwise


def _wanted(row: Data, query: Mapping[str, str]) -> bool:
    for name in FACETS:
        asked = query.get(name, "")
        if asked and asked != row[name] and asked not in (row[name] if name == "attribute" else ()):
            return False
    least = query.get("least", "")
    if least and row["rate"] < _percent(least):
        return False
    words = query.get("text", "").casefold().split()
    return not words or all(word in row["search"] for word in words)


def _percent(text: str) -> float:
    try:
        return float(text) / 100
    except ValueError:
        return 0.0


def _facet(rows: Sequence[Data], name: str) -> list[tuple[str, int]]:
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update(row[name] if isinstance(row[name], list) else [row[name]])
    return [(value, number) for value, number in counted.most_common(MOST_FACETS) if value]


def shot_data(shot: Shot) -> Data:
    return {
        "key": shot.key,
        "seed": shot.seed,
        "verdict": shot.verdict.value,
        "reason": shot.reason,
        "images": list(shot.images),
        "marks": [asdict(mark) for mark in shot.marks],
        "lines": [asdict(line) for line in shot.lines],
        "replies": [asdict(line) for line in shot.replies],
        "purpose": shot.purpose,
        "apart": shot.apart,
    }


def finding(hunt: OpenHunt, subject: str) -> Data | None:
    """Everything about one finding or any other subject; `None` until the hunt is read."""
    loaded = hunt.loaded(wait=0.25)
    if loaded is None:
        return None
    listed = [*loaded.findings, *loaded.suspects]
    number = next((at for at, one in enumerate(listed) if one.subject == subject), None)
    if number is None:
        return _bare(hunt, subject)
    found = listed[number]
    evidence = loaded.evidence(found, SHOTS, PARENTS)
    return {
        **finding_row(hunt, number + 1, found),
        "meaning": STATUSES.get(found.status, ""),
        "e_value": found.e_value,
        "e_text": number_text(found.e_value),
        "own": _row_data(evidence.own),
        "parents": [_row_data(row) for row in evidence.parents],
        "tallies": [asdict(one) for one in evidence.tallies],
        "notes": list(sections.page_of(hunt.row.kind).notes(found)),
        "details": found.details_data,
        "course": _course(evidence.own),
        "near": {
            name: listed[at].subject
            for name, at in (("previous", number - 1), ("next", number + 1))
            if 0 <= at < len(listed)
        },
    }


def _bare(hunt: OpenHunt, subject: str) -> Data:
    """A subject that is no finding: what was seen of it."""
    shots = hunt.reader.shots(subject)
    counted = [shot for shot in shots if shot.valid and not shot.apart]
    failures, trials = sum(shot.verdict is Verdict.FAIL for shot in counted), len(counted)
    rate = rate_of_counts(failures, trials, f"valid {hunt.reader.unit}s of this very request")
    row = ShotRow(subject, subject, rate, shots)
    title = next((line.text for shot in shots for line in shot.lines if line.label == "prompt"), subject)
    return {
        "subject": subject,
        "title": title,
        "caption": "",
        "status": "",
        "counted": rate.counted,
        **rate_data(rate.rate if trials else float("nan"), rate.interval),
        "failures": failures,
        "trials": trials,
        "own": _row_data(row),
        "parents": [],
        "tallies": [],
        "notes": [],
        "details": {},
        "course": _course(row),
        "near": {},
    }


def _row_data(row: ShotRow) -> Data:
    return {
        "subject": row.subject,
        "title": row.title,
        "failures": row.rate.failures,
        "trials": row.rate.of,
        "counted": row.rate.counted,
        "only": row.only,
        **rate_data(row.rate.rate, row.rate.interval),
        "shots": [
            None if shot is None else {**shot_data(shot), "counts": row.counts(shot)} for shot in row.shots
        ],
    }


def _course(row: ShotRow) -> list[tuple[int, float, float, float]]:
    """How rate and interval moved, trial by trial that counts: (trials, rate, low, high)."""
    course, failures, trials = [], 0, 0
    for shot in row.shots:
        if shot is not None and row.counts(shot):
            trials += 1
            failures += shot.verdict is Verdict.FAIL
            course.append((trials, failures / trials, *exact_interval(failures, trials)))
    return course
