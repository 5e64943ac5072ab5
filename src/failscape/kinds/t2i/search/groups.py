"""Groups of nodes tested as one: "Birds × pink" gets a random member per image, and one e-process.

If half of the members or fewer fail, a random member succeeds at a rate of τ/2 at least, for those that pass
succeed at τ or more. So evidence that the mean lies below τ/2 proves that most members fail, without images
of each. How many fail is then measured: random members, a few images each. A group's members are fixed when
it is opened, and its images are nobody else's evidence.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import special

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.forecast import log_evidence
from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.search.belief.nodes import Ints, Key
from failscape.stats.intervals import anytime_interval
from failscape.stats.judging.accuracy import Limits

#: Of the entities of a group; what the number in a key leaves when divided by three.
SCOPES = ("sub-class", "class", "all")
#: The letters of its streams: images of the test, and images that measure how many members fail.
TESTED, MEASURED = "g", "m"


class GroupCode(NamedTuple):
    """Entities of a sub-class or class (`who`, its number in the taxonomy; 0: all) with all of `values`."""

    scope: int
    who: int
    values: tuple[int, ...]


class Draw(NamedTuple):
    """An image to draw of a member: `number` is that of its key."""

    key: Key
    stream: str
    number: int


@dataclass(slots=True)
class Group:
    """`places` are those of its entities. `bars` are the judged rates of a node whose true rate is τ/2, and
    of one at τ. `since`: trials told when it was claimed."""

    code: GroupCode
    places: Ints
    bars: tuple[Limits, Limits]
    seed: int
    passes: int = 0
    fails: int = 0
    since: int | None = None
    #: Why it is no longer tested, or was withdrawn; `given_up_at` so many trials.
    given_up: str = ""
    given_up_at: int = 0
    #: Measured members, by number of the draw: passes, fails.
    counts: dict[int, list[int]] = field(default_factory=dict)
    #: Places of members of which an image failed, in order.
    failed: dict[int, None] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=lambda: {TESTED: 0, MEASURED: 0})
    flying: dict[str, int] = field(default_factory=lambda: {TESTED: 0, MEASURED: 0})

    @property
    def log_e(self) -> float:
        """Evidence that most of its members fail."""
        return log_evidence(self.passes, self.fails, self.bars[0].fail)

    @property
    def images(self) -> int:
        return self.passes + self.fails

    @property
    def stands(self) -> bool:
        return self.since is not None and not self.given_up

    @property
    def interval(self) -> tuple[float, float]:
        """Of the mean failure rate, whenever one stops."""
        low, high = anytime_interval(self.fails, self.images)
        return float(low), float(high)

    @property
    def at_least(self) -> float:
        """The share of members that fail at the least, by the upper end of the mean success rate.

        Judged rates are linear in true ones: the two bars fix the line.
        """
        half, whole = (limit.fail for limit in self.bars)
        share = 0.5 + 0.5 * (1 - self.interval[0] - half) / max(whole - half, 1e-9)
        return min(max(1 - share, 0.0), 1.0)

    @property
    def whole(self) -> bool:
        """Nearly all members fail: then none of them needs images of its own."""
        return self.stands and self.at_least >= tuning.WHOLE_GROUP

    @property
    def measured(self) -> list[TriedCounts]:
        return [TriedCounts(*pair) for pair in self.counts.values() if sum(pair)]

    def cases(self) -> Iterator[Key]:
        return ((place, *self.code.values) for place in self.places.tolist())

    def next_draw(self) -> Draw | None:
        """The next image it wants: of the test until it is claimed, then of its measurement."""
        if self.given_up:
            return None
        stream = TESTED if self.since is None else MEASURED
        taken = self.told[stream] | self.flying[stream]
        at = (~taken & (taken + 1)).bit_length() - 1
        if stream == MEASURED and at >= tuning.MEASURED_MEMBERS * tuning.LEAST_IMAGES:
            return None
        if self.flying[stream].bit_count() >= tuning.MOST_FLYING:
            return None
        self.flying[stream] |= 1 << at
        return Draw((self.member(stream, at), *self.code.values), stream, at * len(SCOPES) + self.code.scope)

    def member(self, stream: str, at: int) -> int:
        """The place of the random member that the draw is about; its luck is its own."""
        of = at // tuning.LEAST_IMAGES if stream == MEASURED else at
        rng = np.random.default_rng([self.seed, ord(stream), *self.code[:2], *self.code.values, of])
        return int(self.places[rng.integers(len(self.places))])

    def tell(self, stream: str, at: int, passed: bool | None) -> bool:
        """Count an image (`None`: it could not be judged); false if it was told before."""
        bit = 1 << at
        if self.told[stream] & bit:
            return False
        self.told[stream] |= bit
        self.flying[stream] &= ~bit
        if passed is None:
            return True
        if not passed:
            self.failed.setdefault(self.member(stream, at))
        if stream == MEASURED:
            self.counts.setdefault(at // tuning.LEAST_IMAGES, [0, 0])[not passed] += 1
        else:
            self.passes, self.fails = self.passes + passed, self.fails + (not passed)
        return True

    def look(self, level: float) -> str:
        """Why it should be given up, or taken back; empty if it goes on.

        The easiest claim needs an e-value of 1 / `level`. One that was made is taken back when its
        measurement leaves less chance than `level` that most members fail."""
        if self.since is None:
            most = max(tuning.MOST_GROUP_IMAGES, self.images)
            slow = self.log_e * most < -math.log(level) * self.images
            if slow and self.images >= tuning.LEAST_GROUP_IMAGES:
                return f"{self.passes} of {self.images} images of random members passed"
            return ""
        counts = self.measured
        images = sum(one.images for one in counts)
        passed = sum(one.passes for one in counts)
        if len(counts) < tuning.MEASURED_MEMBERS or not images:
            return ""
        # Most members fail only if the mean is below τ/2: these images, which nobody chose, may contradict.
        probability = special.betainc(1 + passed, 1 + images - passed, self.bars[0].fail)
        if probability < level:
            return f"drawn again, {passed} of {images} images of random members passed"
        return ""
