"""What a judge's errors do to rates: from measured accuracy to limits, corrected rates and intervals. Pure.

A check that truly holds is called true with probability `sensitivity`, one that does not with probability
`1 - specificity`, independently of the other checks. The two depend on the kind of check only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from failscape.errors import ConfigError
from failscape.stats.intervals import clopper_pearson
from failscape.stats.judging.errors import Chances, KindAccuracy, Measured, lowest_limit
from failscape.trials import parse_label

ALL_OTHERS = "*"
LEVEL = 0.95
#: Limits stay this far inside (0, 1), also when they are rounded to six digits.
TINY = 1e-6

#: A node that differs by less than this from what is tested against cannot be told apart in any run.
MARGIN = 1e-3


class Limits(NamedTuple):
    """Judged pass rates to test against.

    `fail` is the lowest that a node with a true rate of at least τ can show: test failures against it.
    `passes` is the highest that a node with a true rate below τ can show: test passes against it.
    """

    fail: float
    passes: float


@dataclass(frozen=True)
class JudgeAccuracy:
    """`kinds` maps kinds of checks to how the judge errs on them; "*" stands for all kinds not named.

    A single word that the judge misreads may have an entry of its own (`word_key`).
    `limits` hold for all nodes at once with probability `level`: measured kinds share the chance of error.
    `judge` is the digest of the identity it was measured for, `source` says where it comes from.
    """

    kinds: Mapping[str, KindAccuracy]
    level: float = LEVEL
    judge: str = ""
    source: str = ""
    _known: dict[tuple[tuple[str, ...], float], Limits] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ConfigError(f"`0 < level < 1` must hold, but got level={self.level}", "use 0.95")

    @classmethod
    def perfect(cls) -> JudgeAccuracy:
        return cls({ALL_OTHERS: KindAccuracy()}, source="a perfect judge")

    @classmethod
    def from_rates(cls, rates: Mapping[str, Sequence[float]], level: float = LEVEL) -> JudgeAccuracy:
        """Kind → (sensitivity, specificity), both known exactly."""
        pairs = {kind: KindAccuracy(Measured(float(s)), Measured(float(c))) for kind, (s, c) in rates.items()}
        return cls(pairs, level)

    @classmethod
    def from_counts(cls, counts: Mapping[str, Sequence[float]], level: float = LEVEL) -> JudgeAccuracy:
        """Kind → (true called true, true in all, false called false, false in all)."""
        kinds = {
            kind: KindAccuracy(Measured.counted(accepted, true), Measured.counted(rejected, false))
            for kind, (accepted, true, rejected, false) in counts.items()
        }
        return cls(kinds, level)

    @classmethod
    def from_json(cls, text: str, name: str = "the accuracy file") -> JudgeAccuracy:
        """`name` is used in errors. See `docs/judges.md` for the form."""
        try:
            data = json.loads(text)
            kinds = {str(kind): _read(pair) for kind, pair in data["kinds"].items()}
            return cls(
                kinds,
                float(data.get("level", LEVEL)),
                str(data.get("judge", "")),
                str(data.get("source", "")),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(
                f"{name} is no table of a judge's accuracy: {type(error).__name__}: {error}",
                'write {"kinds": {"*": {"sensitivity": {"hits": 95, "of": 100}, "specificity": 0.97}}}',
            ) from error

    def to_json(self) -> str:
        data = {
            "level": self.level,
            "judge": self.judge,
            "source": self.source,
            "kinds": {
                kind: {
                    "sensitivity": one.sensitivity.as_data(),
                    "specificity": one.specificity.as_data(),
                }
                for kind, one in sorted(self.kinds.items())
            },
        }
        return json.dumps(data, indent=1, ensure_ascii=False)

    @property
    def only_in_the_mean(self) -> bool:
        """Is one number for all checks all that is known? Then it may hide words that the judge misreads."""
        return all(kind == ALL_OTHERS or parse_label(kind).kind for kind in self.kinds)

    @property
    def digest(self) -> str:
        """A short name for what it says, wherever it came from."""
        said = replace(self, source="").to_json()
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def named(self, kind: str, word: str) -> str:
        """What to ask for a check of this word: its own entry where people labelled it, else its kind's."""
        own = word_key(kind, word)
        return own if own in self.kinds else kind

    def of(self, kind: str) -> KindAccuracy:
        """Of a kind, or of one word of it (`word_key`) where that has an entry of its own."""
        found = self.kinds.get(kind) or self.kinds.get(ALL_OTHERS)
        if found is None:
            raise ConfigError(
                f"the judge's accuracy on checks of kind {kind!r} is not known",
                f'label some of them with `failscape review`, or add "{ALL_OTHERS}" for all other kinds',
            )
        return found

    def chances(self, kinds: Sequence[str]) -> Chances:
        """As measured, taken to be exact."""
        found = [self.of(kind) for kind in _checked(kinds)]
        return Chances(
            tuple([one.sensitivity.rate for one in found]), tuple([1 - one.specificity.rate for one in found])
        )

    def lowest(self, kinds: Sequence[str], error_probability: float) -> Chances:
        """All checks called true as rarely as the measurements allow.

        Each bound is wrong with `error_probability`.
        """
        found = [self.of(kind) for kind in _checked(kinds)]
        return Chances(
            tuple([one.sensitivity.at_least(error_probability) for one in found]),
            tuple([1 - one.specificity.at_most(error_probability) for one in found]),
        )

    def highest(self, kinds: Sequence[str], error_probability: float) -> Chances:
        found = [self.of(kind) for kind in _checked(kinds)]
        return Chances(
            tuple([one.sensitivity.at_most(error_probability) for one in found]),
            tuple([1 - one.specificity.at_least(error_probability) for one in found]),
        )

    def limits(self, kinds: Sequence[str], threshold: float) -> Limits:
        """Worst cases over what a failed image misses and over what the measurements leave open.

        Every bound falls or rises with each accuracy, so the worst case is at a corner of the box.
        """
        asked = tuple(kinds), threshold
        known = self._known.get(asked)
        if known is None:
            known = self._known[asked] = self._limits(kinds, threshold)
        return known

    def believed(self, kinds: Sequence[str], threshold: float) -> Limits:
        """As `limits`, for hunts that claim many nodes by failing only, whose claims are bounded in the mean.

        `fail` holds with probability `level` for each node by itself, not for all at once: accuracies are
        not all at their worst together (`lowest_limit`). `passes` is at the accuracies as measured: that a
        node passes is a belief there, never a certificate. With simultaneous bounds for both, a review of a
        few hundred labels would leave hardly anything to claim.
        """
        now = self.chances(kinds)
        passes = max(_mixed(now.right, now.wrong(max), threshold), now.wrong(max))
        fail = self.limits(kinds, threshold).fail
        if any(not self.of(kind).exact for kind in kinds):
            fail = max(fail, lowest_limit([self.of(kind) for kind in kinds], threshold, 1 - self.level))
        return Limits(_inside(fail), _inside(passes))

    def _limits(self, kinds: Sequence[str], threshold: float) -> Limits:
        if not 0 < threshold < 1:
            raise ConfigError(
                f"`0 < threshold < 1` must hold, but got threshold={threshold}", "use for example 0.8"
            )
        low, high = self.lowest(kinds, self._share()), self.highest(kinds, self._share())
        # Rates are linear in the true rate: the worst node is exactly at τ, or at the far end if the judge
        # passes bad images more readily than good ones.
        fail = min(_mixed(low.right, low.wrong(min), threshold), low.right)
        passes = max(_mixed(high.right, high.wrong(max), threshold), high.wrong(max))
        return Limits(_inside(fail), _inside(passes))

    def _share(self) -> float:
        """Two one-sided bounds per measured kind share the chance of error; `passes` has the other two."""
        uncertain = sum(not kind.exact for kind in self.kinds.values())
        return (1 - self.level) / max(1, 2 * uncertain)

    def unreachable(self, kinds: Sequence[str], threshold: float, passes: bool = True) -> str:
        """Why no node with these checks can ever be certified, or passed, naming the check; else "".

        A failure must be certifiable whichever check it is that the target never gets right. With
        `passes=False` only failures matter.
        """
        gaps = self._gaps(kinds, threshold)
        place = 0 if gaps[0] <= MARGIN else 1
        if gaps[place] > MARGIN or (place == 1 and not passes):
            return ""
        worst = max(dict.fromkeys(kinds), key=lambda kind: self._mended(kind)._gaps(kinds, threshold)[place])
        now, limits = self.chances(kinds), self.limits(kinds, threshold)
        if place == 0:
            what = f"a node that never gets one check right may show a judged rate of {now.slips_most:.1%}"
            what = f"{what}; to be certified it must be below {limits.fail:.1%}"
        else:
            what = f"a flawless node shows a judged rate of {now.right:.1%}"
            what = f"{what}; to pass it must be above {limits.passes:.1%}"
        return (
            f"the judge's measured accuracy makes τ = {threshold:g} unreachable; most at fault are checks of "
            f"kind {worst!r} ({self.of(worst)}): {what}"
        )

    def room(self, kinds: Sequence[str], threshold: float) -> float:
        """How far nodes can get on the right side of the limits; negative when they cannot."""
        return min(self._gaps(kinds, threshold))

    def _gaps(self, kinds: Sequence[str], threshold: float) -> tuple[float, float]:
        """How far the worst failing and a flawless node are on the right side of the limits."""
        now, limits = self.chances(kinds), self.limits(kinds, threshold)
        return limits.fail - now.slips_most, now.right - limits.passes

    def as_measured(self) -> JudgeAccuracy:
        """The same, where what was measured is taken to be exact."""
        exact = {
            kind: KindAccuracy(Measured(one.sensitivity.rate), Measured(one.specificity.rate))
            for kind, one in self.kinds.items()
        }
        return replace(self, kinds=exact)

    def _mended(self, kind: str) -> JudgeAccuracy:
        return replace(self, kinds={**self.kinds, kind: KindAccuracy()})

    def correct(
        self, passes: int, fails: int, kinds: Sequence[str], level: float = LEVEL
    ) -> tuple[float, tuple[float, float]]:
        """The true pass rate behind judged counts, with an interval that knows the judge's errors.

        The rate is taken halfway between all checks and one check dropping in a failed image. The interval
        allows for both. It covers with at least `level` for a number of images fixed beforehand: half of
        the error probability goes to the images, half to the bounds of accuracy, if there are any.
        """
        now = self.chances(kinds)
        judged = passes / (passes + fails) if passes + fails else 0.5
        rate = _true_rate(judged, now.right, (now.wrong(min) + now.wrong(max)) / 2)
        uncertain = {kind for kind in kinds if not self.of(kind).exact}
        error_probability = (1 - level) / 2 if uncertain else 1 - level
        low_judged, high_judged = clopper_pearson(passes, passes + fails, 1 - error_probability)
        share = error_probability / 2 / max(1, 2 * len(uncertain))
        low, high = self.lowest(kinds, share), self.highest(kinds, share)
        if any(hit <= slip for hit, slip in zip(low.hit, high.slip, strict=True)):
            return rate, (0.0, 1.0)  # perhaps no better than a coin: what it says tells nothing
        bottom = _true_rate(float(low_judged), high.right, high.wrong(max))
        top = _true_rate(float(high_judged), low.right, low.wrong(min))
        return rate, (min(bottom, rate), max(top, rate))


def word_key(kind: str, word: str) -> str:
    """Under which the accuracy on one word of a kind is kept."""
    return f"{kind}={word}"


def _read(pair: Mapping[str, Any]) -> KindAccuracy:
    return KindAccuracy(Measured.from_data(pair["sensitivity"]), Measured.from_data(pair["specificity"]))


def _checked(kinds: Sequence[str]) -> Sequence[str]:
    if not kinds:
        raise ValueError("a node needs at least one check")
    return kinds


def _inside(rate: float) -> float:
    """Strictly between 0 and 1, where tests are defined."""
    return min(1 - TINY, max(TINY, rate))


def _mixed(right: float, wrong: float, rate: float) -> float:
    return rate * right + (1 - rate) * wrong


def _true_rate(judged: float, right: float, wrong: float) -> float:
    if right <= wrong:
        return 0.5
    return min(1.0, max(0.0, (judged - wrong) / (right - wrong)))
