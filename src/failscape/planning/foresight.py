"""What is foreseen of a run, whatever its kind: how large, what it may find, what it takes. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from failscape.config import HuntConfig

SIMULATED_IMAGES = 3000
"""Images that are simulated for one sort of model, in one world or several. A larger run is simulated on a
part of its space with as many images for each entity, and counts are scaled up: a hunt spends its budget
entity by entity, and e-BH counts shares."""

MOST_WORLDS = 3

SPREAD_OF_ENTITY = 1.15
"""How much findings differ from world to world, on the scale of logarithms, times the root of the number of
entities: measured on worlds of 12 (32 to 80 findings, 13 to 40) and 40 entities (325 to 344, 155 to 189)."""

SCALED = 0.2
"""Doubt, on the same scale, that comes with scaling up: a part has fewer neighbours to learn from."""

WIDTH = 1.7
"""Ranges reach so many standard deviations to both sides: nine in ten worlds should lie inside."""

LABEL_SECONDS = 3.0
"""A person takes so long to decide one check of a review."""

BYTES_PER_PIXEL = 1.6
"""Of a photographic PNG; JPEGs take a fifth of it."""

DEFAULT_PIXELS = 512 * 512


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run would find if the model were like a simulated one; `by_depth`: by number of values."""

    like: str
    about: str
    low: int
    high: int
    by_depth: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the config, as it would be given to `--set`, and what it would bring."""

    change: str
    brings: str


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a kind of hunt foresees. `space` and `proves` are lines to read, `images` what it would draw."""

    space: tuple[str, ...]
    proves: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    images: int
    requests: Mapping[str, int]
    check_kinds: int = 1
    warnings: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Part:
    """Of `whole` entities (or classes), `simulated` were in each of `worlds` simulated ones."""

    simulated: int
    whole: int
    worlds: int

    @property
    def scale(self) -> float:
        return self.whole / self.simulated

    @property
    def doubt(self) -> float:
        """Of a count, on the scale of logarithms: the world's own luck, and that of the simulated ones."""
        own, seen = SPREAD_OF_ENTITY**2 / self.whole, SPREAD_OF_ENTITY**2 / self.simulated / self.worlds
        return math.sqrt(own + seen + (SCALED**2 if self.simulated < self.whole else 0.0))


def worlds_for(images: int) -> int:
    """Several small worlds, or one large one."""
    return max(1, min(MOST_WORLDS, SIMULATED_IMAGES // max(images, 1)))


def expected(
    like: str, about: str, counts: Sequence[float], part: Part, depths: Sequence[Mapping[str, float]] = ()
) -> Expectation:
    """A range from the counts of simulated worlds; `depths` are the same counts by number of values."""
    names = list(dict.fromkeys(name for row in depths for name in row))
    by_depth = {name: count_range([row.get(name, 0.0) for row in depths], part) for name in names}
    return Expectation(like, about, *count_range(counts, part), by_depth=by_depth)


def count_range(counts: Sequence[float], part: Part) -> tuple[int, int]:
    """Around the mean of scaled-up counts, as wide as worlds differ, wider by the luck of small numbers."""
    mean = part.scale * sum(counts) / len(counts)
    logs = [math.log(count + 1) for count in counts]
    seen = statistics.stdev(logs) if len(logs) > 1 else 0.0  # small budgets differ more from world to world
    factor, luck = math.exp(WIDTH * max(part.doubt, seen)), WIDTH * math.sqrt(mean * part.scale)
    low, high = mean / factor - luck, mean * factor + luck + 2 * part.scale
    return max(0, math.floor(low)), math.ceil(high)


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
