"""What is foreseen of a run, whatever its kind: how large, what it may find, what it takes. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from failscape.config import HuntConfig

#: Most images of one simulated world, where classes or prompts have nothing in common: a larger run is
#: simulated on some of them, with as many images for each, and counts are scaled up.
SIMULATED_IMAGES = 1000

#: Simulated worlds of each sort, more of them where they are small: with few, how much worlds differ is
#: hardly known, and ranges are wide.
FEWEST_WORLDS, MOST_WORLDS = 4, 8

#: The same for a quick plan: three worlds are the fewest that tell how much worlds differ.
QUICK_WORLDS = 3

#: Share of worlds that a range should hold. What scaling up adds to doubt is what lies above 80 %.
COVERED = 0.9

#: Standard deviation of a rounded number: worlds with the same count differ by so much at least.
ROUNDING = 1 / math.sqrt(12)

#: A person takes so long to decide one check of a review.
LABEL_SECONDS = 3.0

#: Of a photographic PNG; JPEGs take a fifth of it.
BYTES_PER_PIXEL = 1.6

DEFAULT_PIXELS = 512 * 512


@dataclass(frozen=True, slots=True)
class SimulationEffort:
    """How much a plan simulates: at most some seconds of work, or minutes of it (`precise`).

    Kinds count work in simulated trials and never look at a clock: a config has one plan on every machine.
    `worlds` is a number of worlds of each sort that somebody asked for.
    """

    precise: bool = False
    worlds: int | None = None

    def quick_worlds(self, most: int, images: int) -> int:
        """Worlds with so many images each that `most` simulated images allow; three at least."""
        return self.worlds or max(QUICK_WORLDS, min(MOST_WORLDS, most // max(images, 1)))


QUICK, PRECISE = SimulationEffort(), SimulationEffort(precise=True)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run would find if the model were like a simulated one; `by_depth`: by number of values."""

    like: str
    about: str
    low: int
    high: int
    by_depth: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return say_range(self.low, self.high)

    def at_most(self, most: int, by_depth: Mapping[str, int] | None = None) -> "Expectation":
        """The same, but never more than there can be, in all and by number of values."""
        limits = by_depth or {}
        depths = {
            depth: (min(low, limits.get(depth, most)), min(high, limits.get(depth, most)))
            for depth, (low, high) in self.by_depth.items()
        }
        return replace(self, low=min(self.low, most), high=min(self.high, most), by_depth=depths)

    def stretched(self, factor: float) -> "Expectation":
        """The same for a run with more images by this factor: it finds as much at least, and at most more
        in proportion."""
        depths = {depth: (low, math.ceil(high * factor)) for depth, (low, high) in self.by_depth.items()}
        return replace(self, high=math.ceil(self.high * factor), by_depth=depths)

    def up_to(self, planted: int) -> "Expectation":
        """The same for a run with more images than were simulated: it may find all that is planted."""
        return replace(self, high=max(self.high, planted))

    @property
    def middle(self) -> float:
        """Of the range, on the scale of logarithms on which it is made."""
        return math.sqrt((self.low + 1) * (self.high + 1)) - 1


def say_range(low: int, high: int) -> str:
    """A range as it stands in a sentence."""
    if low == high:
        return f"{low:,}" if low else "no"
    return f"between {low:,} and {high:,}" if low else f"at most {high:,}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the config, as it would be given to `--set`, and what it would bring."""

    change: str
    brings: str


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a kind of hunt foresees. `space` and `proves` are lines to read, `images` what it would draw.

    `simulated` says what the expectations rest on.
    """

    space: tuple[str, ...]
    proves: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    images: int
    requests: Mapping[str, int]
    check_kinds: int = 1
    warnings: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    simulated: str = ""


@dataclass(frozen=True, slots=True)
class Pace:
    """Speed and size of pictures, as they were measured or given. `source` says which."""

    per_second: float = 0.0
    picture_bytes: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A whole plan. `seconds`, `cost` and `disk` are `None` where nobody can know."""

    hunt: str
    foresight: Foresight
    seconds: float | None
    speed: str
    cost: float | None
    unpriced: tuple[str, ...]
    disk: float
    disk_basis: str
    labels: int

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def worlds_for(images: int) -> int:
    return max(FEWEST_WORLDS, min(MOST_WORLDS, FEWEST_WORLDS * SIMULATED_IMAGES // max(images, 1)))


class Part(NamedTuple):
    """One simulated run: how large it was, and what it found."""

    size: float
    found: float


def expected(
    like: str,
    about: str,
    parts: Sequence[Part],
    whole: float,
    depths: Sequence[Mapping[str, float]] = (),
) -> Expectation:
    """A range from simulated runs; `depths` are what each of them found by number of values."""
    names = list(dict.fromkeys(name for row in depths for name in row))
    by_depth = {
        name: count_range(
            [Part(part.size, row.get(name, 0.0)) for part, row in zip(parts, depths, strict=True)], whole
        )
        for name in names
    }
    return Expectation(like, about, *count_range(parts, whole), by_depth=by_depth)


def count_range(parts: Sequence[Part], whole: float) -> tuple[int, int]:
    """Where one more world would lie, by how much the simulated ones differ: nothing else is known of it.

    A prediction interval (Student's) of the logarithms, at the size of the largest parts; where parts have
    several sizes, by the line through them. A whole is taken to vary as much as its parts do: entities of one
    world have their attributes in common, so that luck need not even out. Beyond the largest parts, a run
    finds in proportion at least, and at most it goes on growing as it did among the parts.
    """
    logs = np.log([part.found + 1 for part in parts])
    sizes = np.log([part.size for part in parts])
    top = float(sizes.max())
    columns = [np.ones_like(logs)] if np.ptp(sizes) == 0 else [np.ones_like(logs), sizes - top]
    design = np.stack(columns, axis=1)
    line = np.linalg.lstsq(design, logs, rcond=None)[0]
    freedom = max(1, len(logs) - len(line))
    spread = math.sqrt(float(np.sum((logs - design @ line) ** 2)) / freedom)
    at_top = float(np.linalg.inv(design.T @ design)[0, 0])
    middle, growth = float(line[0]), max([1.0, *map(float, line[1:])])
    width = max(spread, ROUNDING / math.exp(middle)) * math.sqrt(1 + at_top)
    width *= float(special.stdtrit(freedom, (1 + COVERED) / 2))
    larger = whole / math.exp(top)
    low, high = math.exp(middle - width) - 1, math.exp(middle + width) - 1
    return max(0, math.floor(larger * low)), max(0, math.ceil(larger**growth * high))


def reckon(config: HuntConfig, foresight: Foresight, measured: Pace) -> RunPlan:
    """Time, money, disk and labels of what is foreseen."""
    roles = config.models()
    asked = {role: number for role, number in foresight.requests.items() if role in roles and number}
    unpriced = tuple(role for role in asked if not roles[role].price)
    priced = [roles[role].price * number for role, number in asked.items() if roles[role].price]
    seconds = foresight.images / measured.per_second if measured.per_second else None
    limit = config.budget.seconds
    each, basis = _picture_bytes(config, measured)
    kept = {"all": 1.0, "failures": 0.5, "none": 0.0}[config.runtime.keep_images]
    return RunPlan(
        config.hunt,
        foresight,
        min(seconds, limit) if seconds is not None and limit is not None else seconds,
        measured.source,
        sum(priced) if priced else None,
        unpriced,
        foresight.images * each * kept,
        basis,
        labels_for(foresight.check_kinds),
    )


def _picture_bytes(config: HuntConfig, measured: Pace) -> tuple[float, str]:
    if measured.picture_bytes:
        return measured.picture_bytes, f"{measured.picture_bytes / 1000:,.0f} kB a picture, as measured"
    size = str(config.target.params.get("size", ""))
    width, cross, height = size.lower().partition("x")
    known = cross and width.isdigit() and height.isdigit()
    pixels = int(width) * int(height) if known else DEFAULT_PIXELS
    shape = size if known else "512x512"
    return pixels * BYTES_PER_PIXEL, f"pictures of {shape} as PNG, a guess: `--measure` knows"


def labels_for(kinds: int) -> int:
    """Checks that people should label to know the judge to ±3 %, if it is wrong in one answer of ten.

    Labels are needed where it errs, so that 10 of each answer and kind are the least.
    """
    alone = math.ceil(1.96**2 * 0.9 * 0.1 / 0.03**2)
    return max(alone, 20 * kinds)
