"""What a hunt in photos says first: how many are wrong, what is called what, which classes fail. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from failscape.kinds.classifier.tallies import SeenPhoto, Target
from failscape.search.surveys import Survey
from failscape.shown_numbers import percent
from failscape.stats.intervals import clopper_pearson

CONFUSIONS = 60
PICTURES = 6


@dataclass(frozen=True, slots=True)
class Confusion:
    """Photos of the class `true` that are called `said`: `count` of `photos`, with the first few."""

    true: str
    said: str
    count: int
    photos: int
    pictures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PhotoClass:
    name: str
    fails: int
    photos: int
    rate: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PhotoSurvey(Survey):
    """`photos` could be used of `given`; `fails` of them are wrong. Confusions, commonest first."""

    given: int
    photos: int
    fails: int
    rate: float
    interval: tuple[float, float]
    confusions: tuple[Confusion, ...]
    classes: tuple[PhotoClass, ...]

    @property
    def opening(self) -> str:
        if not self.photos:
            return ""
        return f"gets {self.fails:,} of {self.photos:,} photos wrong ({percent(self.rate)})"

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def photo_survey(targets: Sequence[Target], seen: Sequence[SeenPhoto], given: int) -> PhotoSurvey:
    valid = [one for one in seen if one.valid]
    fails = sum(one.failed for one in valid)
    classes = [
        _class(target.name, [one for one in valid if one.photo.label == at])
        for at, target in enumerate(targets)
    ]
    ranked = sorted(
        (row for row in classes if row.photos), key=lambda row: (-row.rate, -row.photos, row.name)
    )
    return PhotoSurvey(
        given,
        len(valid),
        fails,
        fails / len(valid) if valid else 0.0,
        _interval(fails, len(valid)),
        tuple(_confusions(targets, valid)),
        tuple(ranked),
    )


def _confusions(targets: Sequence[Target], valid: Sequence[SeenPhoto]) -> list[Confusion]:
    photos = Counter(one.photo.label for one in valid)
    groups: dict[tuple[int, str], list[str]] = {}
    for one in valid:
        if one.failed:
            groups.setdefault((one.photo.label, one.look.wrong), []).append(one.photo.digest)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        Confusion(targets[label].name, said, len(found), photos[label], tuple(found[:PICTURES]))
        for (label, said), found in ranked[:CONFUSIONS]
    ]


def _class(name: str, seen: Sequence[SeenPhoto]) -> PhotoClass:
    fails = sum(one.failed for one in seen)
    rate = fails / len(seen) if seen else 0.0
    return PhotoClass(name, fails, len(seen), rate, _interval(fails, len(seen)))


def _interval(fails: int, photos: int) -> tuple[float, float]:
    low, high = clopper_pearson(fails, photos)
    return float(low), float(high)
