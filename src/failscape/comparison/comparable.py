"""May two models be compared? The same kind of hunt, corpus, threshold and judge; anything else is refused.

A judge that has the same name but says something else of the same picture has drifted: that is found where
both saw it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from failscape.atlas.contents import digest_of
from failscape.comparison.cases import GENERATOR
from failscape.comparison.judges import judge_difference
from failscape.comparison.reading import ModelSide
from failscape.errors import FailscapeError
from failscape.plugins import find_kind
from failscape.stats.intervals import clopper_pearson

#: A judge that surely (95 %) answers more than this share of the same pictures otherwise has drifted.
DRIFT = 0.02


class NotComparable(FailscapeError):
    """Results that do not measure the same thing."""

    exit_code = 4


def refuse_unlike(sides: Sequence[ModelSide], threshold: float | None = None) -> None:
    """Raise `NotComparable` when two sides do not measure the same thing. `threshold` overrides theirs."""
    first = sides[0]
    for other in sides[1:]:
        if first.kind != other.kind:
            raise NotComparable(
                f"{first.name} is of a {first.kind} hunt, {other.name} of a {other.kind} hunt",
                "compare hunts of one kind",
            )
        _refuse_space(first, other)
        if threshold is None and first.limit != other.limit:
            raise NotComparable(
                f"{first.name} was hunted at threshold {_threshold(first)}, {other.name} at "
                f"{_threshold(other)}",
                "say which one counts with --threshold",
            )
        differing = judge_difference(first.row.identities, other.row.identities)
        if differing:
            raise NotComparable(f"{first.name} and {other.name}: {differing}", _judge_fix(other))
        if not first.cases.keys() & other.cases.keys() and not _shares_subjects(first, other):
            raise NotComparable(
                f"{first.name} and {other.name} share no subject",
                "hunt the same space (the same `space` and `seed`), or let compare ask: --target or --budget",
            )


def _refuse_space(first: ModelSide, other: ModelSide) -> None:
    here, there = digest_of(first.row.identities), digest_of(other.row.identities)
    if here != there:
        raise NotComparable(
            f"{first.name} was hunted in another corpus than {other.name} "
            f"({here[:12] or 'none'}, {there[:12] or 'none'})",
            "run one of them again with the other's `space.corpus`",
        )


def _judge_fix(side: ModelSide) -> str:
    if find_kind(side.kind).judged_again:
        return "let the first one's judge look at the other's pictures: --rejudge"
    return "run one of them again with the other's judge or verifier"


def _threshold(side: ModelSide) -> str:
    return "none" if side.limit is None else f"{1 - side.limit:g}"


def _shares_subjects(first: ModelSide, other: ModelSide) -> bool:
    return bool(first.by_subject.keys() & other.by_subject.keys())


@dataclass(frozen=True)
class JudgeDrift:
    """Pictures judged twice by what calls itself the same judge, and how many came out otherwise."""

    pictures: int
    differing: int

    @property
    def proven(self) -> bool:
        low, _ = clopper_pearson(self.differing, self.pictures)
        return bool(self.pictures) and float(low) > DRIFT

    @property
    def sentence(self) -> str:
        if not self.pictures:
            return ""
        said = f"{self.differing:,} of {self.pictures:,} pictures that were judged twice came out otherwise"
        return f"the judge has drifted: {said}" if self.proven else said if self.differing else ""


def drift_between(first: ModelSide, second: ModelSide) -> JudgeDrift:
    """Same picture, same checks, other verdict: only where both drew the very same picture."""
    if find_kind(first.kind).target != GENERATOR:
        return JudgeDrift(0, 0)
    shared = first.cases.keys() & second.cases.keys()
    pairs = [(first.cases[one], second.cases[one]) for one in shared]
    same = [(here, there) for here, there in pairs if here.images and here.images == there.images]
    return JudgeDrift(len(same), sum(here.failed != there.failed for here, there in same))
