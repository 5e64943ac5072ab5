"""Reads the numbers out of texts that people see, each with its name, and tells which contradict another."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from failscape.shown_numbers import percent, spread
from failscape.stats import clopper_pearson

_COUNT = r"\d[\d,]*"
_SHARE = r"\d[\d.]*%"
_RANGE = r"\d[\d.]*–\d[\d.]*%"

#: `65% (59–70%) of 324 pictures fail`: the interval belongs to that many.
_SHARE_OF = re.compile(rf"({_SHARE}) \(({_RANGE})\) of ({_COUNT}) (?:pictures|questions|photos) fail")
#: `3 of 7 …` and a share in the same cell or in brackets behind it.
_COUNTED_SHARE = re.compile(rf"({_SHARE})(?: of [a-z]+)? \(({_COUNT}) of ({_COUNT})\)")
#: `Blue cars are misclassified 100% of the time (93–100%)`: what a title says of its own finding.
_TITLE = re.compile(rf"({_SHARE}) of the time \(([^)]*)\)")
#: Totals of a hunt that have one name each. A part of something ("40 of 47") has another name.
_TOTALS = {
    "images drawn": re.compile(rf"(?:In all: |Images drawn )({_COUNT})\b"),
    "trials": re.compile(rf"(?:findings? in |different requests, in )({_COUNT}) trials"),
    "trials called pictures": re.compile(rf"findings? in ({_COUNT}) (?:pictures|questions|photos)"),
    "findings": re.compile(rf"(?<!of )(?<![\d,])({_COUNT}) (?:failures found|failures? of \w)"),
    "share that fails": re.compile(rf"(?:fails at|cannot draw) ({_SHARE} \({_RANGE}\))"),
}


@dataclass(frozen=True, slots=True)
class SpokenNumber:
    """A number as a screen says it. `name` says what is counted: equal names must have equal values."""

    screen: str
    name: str
    value: str


def spoken_totals(screen: str, text: str) -> Iterator[SpokenNumber]:
    """The totals of the hunt in a text."""
    joined = " ".join(text.split())
    for name, pattern in _TOTALS.items():
        for found in pattern.finditer(joined):
            yield SpokenNumber(screen, name, found[1].replace(",", ""))


def two_values(numbers: Iterable[SpokenNumber]) -> dict[str, dict[str, list[str]]]:
    """Name → value → screens, for every name with more than one value."""
    found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in numbers:
        found[one.name][one.value].append(one.screen)
    return {name: dict(values) for name, values in found.items() if len(values) > 1}


def wrong_shares(text: str) -> list[str]:
    """Every share that is not what its own counts give, and every interval that is not that of its counts."""
    joined = " ".join(text.split())
    wrong = []
    for found in _COUNTED_SHARE.finditer(joined):
        failures, trials = _number(found[2]), _number(found[3])
        if trials and found[1] != percent(failures / trials):
            wrong.append(found[0])
    for found in _SHARE_OF.finditer(joined):
        trials = _number(found[3])
        possible = {(percent(count / trials), spread(_exact(count, trials))) for count in range(trials + 1)}
        if (found[1], found[2]) not in possible:
            wrong.append(found[0])
    return wrong


def title_rate(title: str) -> tuple[str, str] | None:
    """Share and interval that the title of a finding names; `None` where it names none."""
    found = _TITLE.search(title)
    return (found[1], found[2]) if found else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _exact(failures: int, trials: int) -> tuple[float, float]:
    low, high = clopper_pearson(failures, trials)
    return float(low), float(high)
