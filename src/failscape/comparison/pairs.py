"""Pairs the results of two models: the same subject, the same case. Pure.

A case is all that was asked but for the model under test: a prompt with its seed and checks, or a picture
with the right label, or a picture with its question. Two results of one case make a pair.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class CaseResult(NamedTuple):
    """One case on one model. Cases without a valid verdict are none.

    `fresh`: how many cases of its subject were drawn did not depend on how they went, so that its rate is
    honest. `sampled`: its subject was drawn at random, so that it speaks for the whole space.
    """

    subject: str
    case: str
    failed: bool
    fresh: bool = False
    sampled: bool = False
    key: str = ""


@dataclass(frozen=True)
class ModelResults:
    """What is known of one model. `claimed` are the subjects that its own search chose as failing."""

    name: str
    results: tuple[CaseResult, ...]
    claimed: frozenset[str] = frozenset()
    groups: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def group(self, subject: str) -> str:
        """The thing that a subject is about: its cases are alike."""
        return self.groups.get(subject) or subject.split("; ")[0]


class PairCounts(NamedTuple):
    """Pairs by who failed."""

    both: int = 0
    first_only: int = 0
    second_only: int = 0
    neither: int = 0

    @property
    def pairs(self) -> int:
        return sum(self)

    @property
    def first_failures(self) -> int:
        return self.both + self.first_only

    @property
    def second_failures(self) -> int:
        return self.both + self.second_only


class CasePair(NamedTuple):
    """The same case on two models."""

    first: CaseResult
    second: CaseResult

    @property
    def difference(self) -> int:
        """+1 where only the second fails, -1 where only the first does."""
        return int(self.second.failed) - int(self.first.failed)

    @property
    def fresh(self) -> bool:
        return self.first.fresh and self.second.fresh

    @property
    def sampled(self) -> bool:
        return self.first.sampled or self.second.sampled


@dataclass(frozen=True)
class SubjectPairs:
    """All pairs of one subject. `counted` are those that rates are shown of.

    Where a search claimed the subject, only pairs drawn apart from that claim count: what was picked because
    it failed looks worse than it is, and would seem mended by itself.
    """

    subject: str
    group: str
    pairs: tuple[CasePair, ...]
    claimed: bool = False

    @property
    def all(self) -> PairCounts:
        return counts_of(self.pairs)

    @property
    def counted(self) -> PairCounts:
        return counts_of(pair for pair in self.pairs if pair.fresh or not self.claimed)


def counts_of(pairs: Iterable[CasePair]) -> PairCounts:
    found = [0, 0, 0, 0]
    for first, second in pairs:
        found[2 * (not first.failed) + (not second.failed)] += 1
    return PairCounts(*found)


def pair_up(first: ModelResults, second: ModelResults) -> list[SubjectPairs]:
    """Every subject that both models have a case of in common, in the order of the first's results."""
    there = {(one.subject, one.case): one for one in second.results}
    found: dict[str, list[CasePair]] = {}
    seen: set[tuple[str, str]] = set()
    for one in first.results:
        place = (one.subject, one.case)
        if place in there and place not in seen:
            seen.add(place)
            found.setdefault(one.subject, []).append(CasePair(one, there[place]))
    claimed = first.claimed | second.claimed
    return [
        SubjectPairs(subject, first.group(subject), tuple(pairs), subject in claimed)
        for subject, pairs in found.items()
    ]
