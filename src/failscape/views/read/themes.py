"""Themes: the few sentences that together say most of what a hunt found.

A theme is a trait that findings share, or two of them: a thing, a class, a value, a skill. Themes are chosen
one after the other. Each is the candidate that says most about which of the subjects that were tried fail:
how much shorter the list of "fails" and "works" gets once one knows which subjects have the trait (in nats,
the likelihood of two shares against that of one). A candidate that covers much, but also much that works,
says little; so does one that covers few. What a theme covers is set aside before the next one is chosen. The
choice ends where naming a candidate takes as much as it says, the logarithm of how many there are.

A theme must fail more often than not: what works in most cases does not explain a failure. What failed
wherever it was tried is a theme even where few were tried, once they are three. Themes that differ in one
value only are joined at the end: "four or five". There is nothing to set, and the same trials give the same
themes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

#: Families of traits that do not come from a value; those of values are its kind, such as `Base: colour`.
THING = "thing"
CLASS = "class"
SKILL = "skill"
#: Having any value of a kind: `any` and `Base: colour`.
ANY_VALUE = "any"

#: So many failing subjects without a single exception are a theme, however little naming them saves: two of
#: two are found somewhere among many candidates by chance.
UNANIMOUS = 3


@dataclass(frozen=True, slots=True, order=True)
class Trait:
    """What subjects may share: (`thing`, `owl`), (`Base: colour`, `red`), (`skill`, `counting`)."""

    family: str
    name: str


#: What all subjects of a theme have. Several traits of one value's family are alternatives: "four or five".
Traits = tuple[Trait, ...]


@dataclass(frozen=True, slots=True)
class TriedSubject:
    """A subject of which it is known whether it fails. `finding` is its number where it does, else `None`."""

    subject: str
    traits: frozenset[Trait]
    finding: int | None


@dataclass(frozen=True, slots=True)
class Theme:
    """All subjects with the `traits`: `findings` are the numbers of those that fail, `exceptions` work.

    `newly` are those of its findings that no theme before it has.
    """

    traits: Traits
    findings: tuple[int, ...]
    exceptions: tuple[str, ...]
    newly: tuple[int, ...]

    @property
    def tried(self) -> int:
        return len(self.findings) + len(self.exceptions)


def choose_themes(tried: Sequence[TriedSubject]) -> list[Theme]:
    """The themes of a hunt, the one that says most first."""
    ordered = sorted(tried, key=lambda one: one.subject)
    candidates = _candidates(ordered)
    failing = _bits(at for at, one in enumerate(ordered) if one.finding is not None)
    left = (1 << len(ordered)) - 1
    chosen: list[Traits] = []
    while (best := _best(candidates, failing, left)) is not None:
        chosen.append(best)
        left &= ~candidates[best]
    return _as_themes(ordered, _joined(chosen, ordered), candidates)


def _best(candidates: Mapping[Traits, int], failing: int, left: int) -> Traits | None:
    """The candidate that says most; among equals the shorter one, then the first by name."""
    gains = {traits: _gain(having, failing, left) for traits, having in candidates.items()}
    cost = math.log(max(1, len(candidates)))
    worth_naming = [
        traits
        for traits, gain in gains.items()
        if gain > cost or (gain > 0 and _is_unanimous(candidates[traits], failing, left))
    ]
    return min(worth_naming, key=lambda traits: (-gains[traits], len(traits), traits), default=None)


def _is_unanimous(having: int, failing: int, left: int) -> bool:
    works = having & ~failing
    return not works and (having & left).bit_count() >= UNANIMOUS


def _joined(chosen: Sequence[Traits], ordered: Sequence[TriedSubject]) -> list[list[Traits]]:
    """Themes that differ in the value of one family only, together; each group in the order of choice.

    Only values that exclude each other can be alternatives, such as counts; a question may take two skills.
    """
    exclusive = _exclusive_families(ordered)
    groups: dict[tuple[object, ...], list[Traits]] = {}
    for traits in chosen:
        others = [key for family in exclusive if (key := _all_but(traits, family)) in groups]
        key = (
            others[0] if others else next((_all_but(traits, f) for f in exclusive if _has(traits, f)), traits)
        )
        groups.setdefault(key, []).append(traits)
    return list(groups.values())


def _exclusive_families(ordered: Sequence[TriedSubject]) -> list[str]:
    """Families of values of which no subject has two."""
    families: set[str] = set()
    several: set[str] = set()
    for one in ordered:
        counts = Counter(trait.family for trait in one.traits)
        families |= counts.keys()
        several |= {family for family, count in counts.items() if count > 1}
    return sorted(families - several - {THING, CLASS, SKILL, ANY_VALUE})


def _has(traits: Traits, family: str) -> bool:
    return any(trait.family == family for trait in traits)


def _all_but(traits: Traits, family: str) -> tuple[object, ...]:
    """What a theme has beside its value of a family; the family stands for the value."""
    if not _has(traits, family):
        return (traits,)
    return (family, *(trait for trait in traits if trait.family != family))


def _as_themes(
    ordered: Sequence[TriedSubject], groups: Iterable[Sequence[Traits]], candidates: Mapping[Traits, int]
) -> list[Theme]:
    left = (1 << len(ordered)) - 1
    themes: list[Theme] = []
    for group in groups:
        having = 0
        for traits in group:
            having |= candidates[traits]
        together = tuple(sorted({trait for traits in group for trait in traits}))
        themes.append(_theme(ordered, together, having, left))
        left &= ~having
    return themes


def _theme(ordered: Sequence[TriedSubject], traits: Traits, having: int, left: int) -> Theme:
    members = [(at, one) for at, one in enumerate(ordered) if having >> at & 1]
    return Theme(
        traits,
        tuple(sorted(one.finding for _, one in members if one.finding is not None)),
        tuple(one.subject for _, one in members if one.finding is None),
        tuple(sorted(one.finding for at, one in members if one.finding is not None and left >> at & 1)),
    )


def _candidates(ordered: Sequence[TriedSubject]) -> dict[Traits, int]:
    """Traits and pairs of traits that at least two findings share → the subjects that have them, as bits."""
    shared: Counter[Traits] = Counter()
    for one in ordered:
        if one.finding is not None:
            shared.update(_singles_and_pairs(one.traits))
    places: dict[Traits, list[int]] = {traits: [] for traits, count in shared.items() if count > 1}
    for at, one in enumerate(ordered):
        for traits in _singles_and_pairs(one.traits):
            if traits in places:
                places[traits].append(at)
    return {traits: _bits(at) for traits, at in places.items()}


def _singles_and_pairs(traits: Iterable[Trait]) -> Iterator[Traits]:
    ordered = sorted(traits)
    for trait in ordered:
        yield (trait,)
    for first, second in combinations(ordered, 2):
        if not _says_the_same(first, second):
            yield first, second


def _says_the_same(first: Trait, second: Trait) -> bool:
    """Whoever is red has a colour."""
    kinds = {first.family, second.family}
    any_of = {trait.name for trait in (first, second) if trait.family == ANY_VALUE}
    return bool(kinds & any_of)


def _bits(places: Iterable[int]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits


def _gain(having: int, failing: int, left: int) -> float:
    """How much shorter the list of what is left gets; 0 for what is no theme."""
    inside = having & left
    outside = left & ~having
    inside_fails = (inside & failing).bit_count()
    outside_fails = (outside & failing).bit_count()
    inside_all = inside.bit_count()
    outside_all = outside.bit_count()
    mostly_fails = 2 * (having & failing).bit_count() > having.bit_count()
    is_theme = inside_fails > 1 and 2 * inside_fails > inside_all and mostly_fails
    if not is_theme or inside_fails * outside_all <= outside_fails * inside_all:
        return 0.0
    in_one = _length(inside_fails + outside_fails, inside_all + outside_all)
    return in_one - _length(inside_fails, inside_all) - _length(outside_fails, outside_all)


def _length(count: int, of: int) -> float:
    """Nats that it takes to say which `count` of `of`, once their number is known."""
    parts = (count, of - count)
    return sum(part * math.log(of / part) for part in parts if part)
