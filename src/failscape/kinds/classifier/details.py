"""What a classifier hunt tells of a bug, typed from the hunt to the page; `as_data` is for others. Pure."""

from dataclasses import asdict, dataclass
from typing import Any

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ClauseSaid:
    """`around`: it speaks of the background or the style. `names`: another class that it names, if any."""

    label: str
    kind: str
    value: str
    around: bool
    names: str = ""


@dataclass(frozen=True, slots=True)
class RaceCounts:
    fails: int
    valid: int
    invalid: int


@dataclass(frozen=True, slots=True)
class RateCounts:
    """Images of a class in general. In `both` of the valid ones the wrong label's object is there too."""

    fails: int
    valid: int
    invalid: int
    absent: int
    rate: float
    interval: Interval
    both: int = 0


@dataclass(frozen=True, slots=True)
class Toggle:
    """One counterfactual on the same seeds: `what` is without, instead, or beside.

    `effect` is by how much more often images fail with the clause. What comes along with it unasked, by
    captions, is drawn alone in its place (`beside`): if that fails as often, the two cannot be told apart.
    """

    clause: str
    words: str
    around: bool
    what: str
    instead: str
    caption: str
    subject: str
    effect: float
    interval: Interval
    pairs: int
    rate: float
    full_rate: float

    @property
    def is_cause(self) -> bool:
        return self.what == "without" and self.interval[0] > 0


@dataclass(frozen=True, slots=True)
class RealRate:
    """How often real photos like a finding fail, and all photos of its class. `by`: captions or embedding."""

    by: str
    fails: int
    photos: int
    rate: float
    interval: Interval
    all_fails: int
    all_photos: int


@dataclass(frozen=True, slots=True)
class SeenRates:
    """Fresh images by what the judge sees in them.

    `asked_rate` counts all that show the class; the finding's own rate only those that show the clauses, a
    share of `obeyed` (`None`: nobody could say, and the finding's rate is as asked). In `both` of the passes
    the wrong label's object is in the picture too.
    """

    asked: int
    asked_fails: int
    asked_rate: float
    asked_interval: Interval
    obeyed: float | None
    both: int


@dataclass(frozen=True, slots=True)
class ClassHolds:
    """A class in a slice across classes: `fails` of `photos` inside, `rest_fails` of `rest_photos` outside.

    `holds`: they fail more often inside, by a test of this class only. `proven`: also beside all other tests.
    """

    name: str
    fails: int
    photos: int
    rest_fails: int
    rest_photos: int
    holds: bool
    proven: bool

    @property
    def rate(self) -> float:
        return self.fails / self.photos if self.photos else 0.0


@dataclass(frozen=True, slots=True)
class BugDetails:
    """`class_name` is `class` in the data. What follows `photos` is of hunts in photos only.

    `photos` are pictures that failed, `decided` all that the rate is over, `p_value` that of its test, and
    `classes` says for which classes a slice across classes holds.
    """

    class_name: str
    short: str
    clauses: tuple[ClauseSaid, ...]
    source: str
    confirmed: bool
    race: RaceCounts | None
    baseline: RateCounts
    wrong: dict[str, int]
    baseline_wrong: dict[str, int]
    toggles: tuple[Toggle, ...] = ()
    spurious: tuple[str, ...] = ()
    real: RealRate | None = None
    seen: SeenRates | None = None
    #: Attributes that come along with a clause and cannot be told apart from it.
    together: tuple[str, ...] = ()
    aim: str = ""
    #: What a suspect lacks to be claimed.
    missing: str = ""
    photos: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    p_value: float | None = None
    classes: tuple[ClassHolds, ...] = ()

    def as_data(self) -> dict[str, Any]:
        data = asdict(self)
        data = {"class": data.pop("class_name"), **data}
        return data if self.source == "photos" else {k: v for k, v in data.items() if k not in _OF_PHOTOS}


_OF_PHOTOS = ("photos", "decided", "p_value", "classes")
